// Requests to the server. All are GET.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function get(path, { signal } = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", headers: { Accept: "application/json" }, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The operator cannot be reached.");
  }
  if (response.ok) return response.json();
  const answer = await response.json().catch(() => ({}));
  throw new Refused(response.status, answer.error || `The operator answers ${response.status}.`);
}

export async function openSession(token) {
  const response = await fetch("/session", { credentials: "same-origin", headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new Refused(response.status, response.status === 401 ? "This token is not accepted." : answer.error);
  }
}
