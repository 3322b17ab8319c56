// What changes, as it changes: events of the server, or, where these do not come, questions every few seconds.

const POLL = 5000;
const RETRY = 30000;
const POLLING = ["polling", `every ${POLL / 1000} s`];

export class Live {
  constructor(handlers) {
    // handlers: rows({rows, gone}), change(entry), refresh()
    this.handlers = handlers;
    this.source = null;
    this.poll = null;
  }

  start() {
    this.stop();
    const source = new EventSource("/events");
    this.source = source;
    source.addEventListener("hello", (event) => {
      document.getElementById("foot").textContent = JSON.parse(event.data).about;
      this.status("live", "live");
      this.pollNoMore();
      if (this.wasAway) this.handlers.refresh();
      this.wasAway = false;
    });
    source.addEventListener("rows", (event) => this.handlers.rows(JSON.parse(event.data)));
    source.addEventListener("change", (event) => this.handlers.change(JSON.parse(event.data)));
    source.addEventListener("reset", () => this.handlers.refresh());
    source.addEventListener("error", () => {
      // The browser reconnects by itself unless the server refuses.
      this.wasAway = true;
      this.pollInstead();
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(() => this.source === source && this.start(), RETRY);
      }
    });
  }

  stop() {
    this.source?.close();
    this.source = null;
    this.pollNoMore();
    this.status("connecting", "connecting");
  }

  answered() {
    // The server answers again, after it did not.
    if (document.getElementById("live").dataset.live !== "offline") return;
    if (this.poll) this.status(...POLLING);
    else if (this.source?.readyState === EventSource.OPEN) this.status("live", "live");
    else this.status("connecting", "connecting");
  }

  pollInstead() {
    this.status(...POLLING);
    this.poll ??= setInterval(() => this.handlers.refresh(), POLL);
  }

  pollNoMore() {
    clearInterval(this.poll);
    this.poll = null;
  }

  status(state, words) {
    const element = document.getElementById("live");
    element.dataset.live = state;
    element.textContent = words;
  }
}
