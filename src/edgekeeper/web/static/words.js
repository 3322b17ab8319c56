// Words and small pieces that all pages use.
import { h } from "/dom.js";

export const STATES = {
  attention: "Needs you",
  drifted: "Drifted",
  progressing: "In progress",
  deleting: "Deleting",
  paused: "Paused",
  ready: "Ready",
};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

export function badge(state) {
  return h("span", { class: "state", "data-state": state }, STATES[state] || state);
}

export function ago(text) {
  // A moment relative to now; the exact one is in the title.
  if (!text) return "";
  const element = h("time", { datetime: text, title: new Date(text).toLocaleString() });
  element.textContent = relative(text);
  return element;
}

export function relative(text, now = Date.now()) {
  const seconds = Math.round((now - Date.parse(text)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  const span = duration(Math.abs(seconds));
  if (Math.abs(seconds) < 2) return "now";
  return seconds < 0 ? `in ${span}` : `${span} ago`;
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function tick() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    element.textContent = relative(element.getAttribute("datetime"));
  }
  for (const element of document.querySelectorAll("[data-due]")) element.textContent = expected(element.dataset.due);
}

export function title(row) {
  return row.namespace ? `${row.namespace}/${row.name}` : row.name;
}

export function address(id) {
  return `#/object/${id.split("/").map(encodeURIComponent).join("/")}`;
}

export function waits(row) {
  if (!row.waitsFor) return "";
  return [row.waitsFor, row.until && [", ", due(row.until)]];
}

export function due(text) {
  // When something should be over: in the future, or already.
  return [h("span", { "data-due": text }, expected(text)), " ", ago(text)];
}

function expected(text) {
  return Date.parse(text) > Date.now() ? "expected" : "was expected";
}

export function prose(text) {
  // A text in which commands stand between backquotes.
  return text.split("`").map((part, number) => (number % 2 ? h("code", {}, part) : part));
}

export function fields(list) {
  // Changed fields as a list of paths with their values before and after.
  return h("dl", { class: "facts small" }, list.map((one) => [
    h("dt", { class: "mono" }, one.path),
    h("dd", {}, one.before !== undefined && [h("del", {}, one.before), " "], one.after !== undefined && h("ins", {}, one.after)),
  ]));
}

export function diffTable(caption, list, before, after) {
  return h("table", { class: "cards" },
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, ["Field", before, after].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, list.map((one) => h("tr", {},
      h("th", { scope: "row", class: "mono" }, one.path || "all"),
      h("td", { "data-label": before }, one.before === undefined ? h("span", { class: "muted" }, "absent") : h("del", {}, one.before)),
      h("td", { "data-label": after }, one.after === undefined ? h("span", { class: "muted" }, "absent") : h("ins", {}, one.after))))));
}

export function calls(entry) {
  const total = (entry.calls || []).reduce((sum, one) => sum + one.count, 0);
  return total ? h("span", { class: "chip" }, total === 1 ? "1 call" : `${total} calls`) : "";
}

export function changes(entries, { link = true } = {}) {
  if (!entries.length) return h("p", { class: "muted" }, "There are no recent changes.");
  return h("ol", { class: "changes" }, entries.map((entry) => change(entry, link)));
}

export function change(entry, link = true) {
  // Who did what, to which object, why, and with how many calls; the rest in a part that opens.
  const subjects = entry.subjects || [];
  const steps = entry.steps || [];
  const reasons = [...steps.map((one) => one.why), ...(entry.events || []).map((one) => one.message)].filter(Boolean);
  return h("li", { "data-change": entry.id },
    h("div", {}, ago(entry.at), " ", h("strong", {}, entry.what), " ",
      link && subjects.length ? subject(subjects, `subject-${entry.id}`) : "", " ",
      entry.failed && h("span", { class: "wrong" }, "failed "),
      calls(entry)),
    h("div", { class: "small muted" }, `by ${entry.who}${entry.generation ? `, generation ${entry.generation}` : ""}`, reasons.length ? ` — ${reasons[0]}` : ""),
    more(entry, steps));
}

function subject(list, key) {
  const [kind, namespace, name] = list[0];
  const rest = list.length > 1 ? ` and ${list.length - 1} more` : "";
  return [h("a", { href: address(`*/${kind}/${namespace || "-"}/${name}`), "data-key": key }, `${kind} ${namespace ? `${namespace}/` : ""}${name}`), rest];
}

function more(entry, steps) {
  const changed = [...steps.flatMap((one) => one.fields || []), ...(entry.drift || [])];
  const others = (entry.subjects || []).slice(1);
  const list = entry.calls || [];
  if (!changed.length && !list.length && steps.length < 2 && !others.length) return "";
  return h("details", { class: "small", "data-key": `change-${entry.id}` },
    h("summary", { "data-key": `details-${entry.id}` }, "Details"),
    steps.length > 1 && h("ol", { class: "steps" }, steps.map((one) => h("li", {}, one.what, one.why && h("span", { class: "muted" }, ` — ${one.why}`)))),
    changed.length ? fields(changed) : "",
    (entry.events || []).map((one) => h("p", {}, h("strong", {}, one.reason), `: ${one.message}`)),
    others.length ? h("p", {}, "For ", entry.subjects.map((one, number) => [number ? ", " : "", subject([one], `subject-${entry.id}-${number}`)])) : "",
    list.length ? h("p", { class: "muted" }, list.map((one) => `${one.count} × ${one.target} ${one.operation}`).join(", ")) : "");
}
