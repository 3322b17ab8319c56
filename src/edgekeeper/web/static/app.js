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
let current = null; // the request of the page that is being loaded or shown
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
  current = request;
  mark(page === "object" ? "objects" : page || "overview");
  if (page !== "objects" && document.activeElement !== search) search.value = "";
  try {
    await PAGES[page]({ path, query, signal: request.signal, isNew });
    if (isMoved && document.activeElement !== search) {
      window.scrollTo(0, 0);
      document.getElementById("main").focus({ preventScroll: true });
    }
  } catch (error) {
    if (error.name === "AbortError" || current !== request) return;
    if (isNew || error.status === 401 || error.status === 404) failed(error);
    else live.status("offline", "no answer"); // what is shown stays: it was true a moment ago
  }
}

function failed(error) {
  if (error.status === 401) {
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
  // Loads the page again, once for many changes.
  again ??= setTimeout(() => { again = null; if (!document.hidden) load({ isNew: false }); }, milliseconds);
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
    const { page } = route();
    if (page === "changes") addChange(entry);
    else if (page === "object") soon(500);
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
setInterval(tick, 10000);

// Session

function login(hint) {
  live.stop();
  document.getElementById("main").setAttribute("aria-busy", "false");
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
});
nameTheme();

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
live.start();
load({ isNew: true });
