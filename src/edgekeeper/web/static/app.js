// Chooses the page by the address, keeps it up to date, and handles keys.
import { h, show } from "/dom.js";
import { openSession } from "/api.js";
import { addChange, history } from "/history.js";
import { Live } from "/live.js";
import { object } from "/object.js";
import { lastList, objects, patchRows } from "/objects.js";
import { overview } from "/overview.js";
import { tick } from "/words.js";

const PAGES = { "": overview, objects, object, changes: history };
const RENEWED = ["", "object"]; // pages with figures that change without an event: budgets, due times, states of a graph
const RENEW = 10000;
let current = null; // the request of the page that is being loaded or shown
let loading = null; // the same until the page is shown
let again = null;

function route() {
  const [name, rest] = split(location.hash.replace(/^#\/?/, ""));
  const [path, query] = rest;
  return { page: PAGES[name] ? name : "", path: path.split("/").map(decodeURIComponent).join("/"), query: new URLSearchParams(query) };
}

function split(hash) {
  const [path, query = ""] = hash.split("?");
  const [name, ...rest] = path.split("/");
  return [name, [rest.join("/"), query]];
}

async function load({ isNew, isMoved = false }) {
  const { page, path, query } = route();
  current?.abort();
  const request = new AbortController();
  current = loading = request;
  mark(page === "object" ? "objects" : page || "overview");
  if (page !== "objects" && document.activeElement !== search) search.value = "";
  try {
    await PAGES[page]({ path, query, signal: request.signal, isNew });
    live.answered();
    if (isMoved && document.activeElement !== search) {
      window.scrollTo(0, 0);
      document.getElementById("main").focus({ preventScroll: true });
    }
  } catch (error) {
    if (error.name === "AbortError" || current !== request) return;
    if (isNew || [401, 403, 404].includes(error.status)) failed(error);
    else live.status("offline", "no answer"); // what is shown stays: it was true a moment ago
  } finally {
    if (loading === request) loading = null;
  }
}

function failed(error) {
  if (error.status === 401 || error.status === 403) {
    login(error.message);
    return;
  }
  show(h("h1", {}, error.status === 404 ? "Not found" : "This does not work"), h("section", { "aria-label": "Problem" }, h("p", { class: "wrong" }, error.message || String(error)), h("p", {}, h("a", { href: "#/" }, "To the overview"))));
}

function mark(name) {
  for (const link of document.querySelectorAll(".pages a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Updates

function soon(milliseconds) {
  // Loads the page again, once for many changes. Waits for a page that is being loaded, and for somebody who sets a filter.
  again ??= setTimeout(() => {
    again = null;
    if (document.hidden) return;
    if (loading || document.activeElement?.closest("main input, main select")) soon(Math.max(milliseconds, 200));
    else load({ isNew: false });
  }, milliseconds);
}

const live = new Live({
  rows({ rows, gone }) {
    const { page, path } = route();
    if (page === "object") {
      if (rows.some((row) => row.id === path) || gone.includes(path)) soon(150);
      return;
    }
    if (page === "changes") return;
    patchRows(rows);
    soon(1000);
  },
  change(entry) {
    const { page, query } = route();
    if (page === "changes" && !query.has("before") && !addChange(entry)) soon(0);
    else if (page === "object") soon(500);
    else if (page === "") soon(1000);
  },
  refresh() { soon(100); },
});

// A browser has few connections for one server: a page that nobody sees must not hold one.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    live.stop();
  } else if (!document.getElementById("login").open) {
    live.start();
    soon(0);
  }
});
setInterval(() => {
  tick();
  if (RENEWED.includes(route().page) && !document.getElementById("login").open) soon(0);
}, RENEW);

// Session

function login(hint) {
  live.stop();
  show(h("h1", {}, "Log in")); // what somebody may not see any more does not stay behind the dialog
  document.getElementById("login-hint").textContent = hint;
  const dialog = document.getElementById("login");
  if (!dialog.open) dialog.showModal();
}

document.getElementById("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = document.getElementById("token");
  const problem = document.getElementById("login-problem");
  problem.textContent = "";
  try {
    await openSession(field.value.trim());
    field.value = "";
    document.getElementById("login").close();
    live.start();
    load({ isNew: true });
  } catch (error) {
    problem.textContent = error.message;
  }
});

// Search

let typing = null;
const search = document.getElementById("search");
function find() {
  const text = search.value.trim();
  const { page, query } = route();
  const given = page === "objects" ? query : new URLSearchParams();
  if (text) given.set("q", text); else given.delete("q");
  given.delete("page");
  const target = `#/objects${given.size ? `?${given}` : ""}`;
  if (location.hash === target) return;
  if (page === "objects") { window.history.replaceState(null, "", target); load({ isNew: true }); } else location.hash = target;
}
search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(find, 200); });
document.getElementById("search-form").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); find(); document.querySelector("main tr a")?.focus(); });

// Theme

const THEMES = ["auto", "light", "dark"];
const theme = document.getElementById("theme");
function nameTheme() {
  const chosen = document.documentElement.dataset.theme || "auto";
  theme.textContent = `Theme: ${chosen}`;
  theme.setAttribute("aria-label", `Theme: ${chosen === "auto" ? "automatic" : chosen}`);
}
theme.addEventListener("click", () => {
  const chosen = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "auto") + 1) % THEMES.length];
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try { localStorage.setItem("theme", chosen); } catch { /* storage may be disabled */ }
  nameTheme();
  soon(0); // pictures are drawn anew
});
nameTheme();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => soon(0));

// Keys

function move(by) {
  const links = [...document.querySelectorAll("main tr[data-id] a.name")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))].focus();
}

function help() {
  const dialog = document.getElementById("help");
  if (!dialog.open) dialog.showModal();
}

const KEYS = {
  "/": () => { search.focus(); search.select(); },
  j: () => move(1),
  k: () => move(-1),
  g: () => { location.hash = "#/"; },
  o: () => { location.hash = "#/objects"; },
  c: () => { location.hash = "#/changes"; },
  "?": help,
  Escape: () => { if (route().page === "object") location.hash = lastList(); else document.activeElement?.blur(); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typingIn = event.target.closest?.("input, select, textarea");
  if (typingIn) {
    if (event.key === "Escape") typingIn.blur();
    return;
  }
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
document.getElementById("keys").addEventListener("click", help);
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("main").focus(); });

window.addEventListener("hashchange", () => load({ isNew: true, isMoved: true }));
if (!document.hidden) live.start();
load({ isNew: true });
