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
  return [Date.parse(text) > Date.now() ? "expected " : "was expected ", ago(text)];
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
  const list = entry.calls || [];
  const total = list.reduce((sum, one) => sum + one.count, 0);
  if (!total) return "";
  const words = list.map((one) => `${one.count} × ${one.target} ${one.operation}`).join("\n");
  return h("span", { class: "chip", title: words }, total === 1 ? "1 call" : `${total} calls`);
}

export function changes(entries, { link = true } = {}) {
  if (!entries.length) return h("p", { class: "muted" }, "Nothing has changed since the operator started.");
  return h("ol", { class: "changes" }, entries.map((entry) => change(entry, link)));
}

export function change(entry, link = true) {
  const subjects = entry.subjects || [];
  const [kind, namespace, name] = subjects[0] || ["", "", ""];
  const more = subjects.length > 1 ? ` and ${subjects.length - 1} more` : "";
  const steps = entry.steps || [];
  const reasons = [
    ...steps.map((one) => one.why),
    ...(entry.events || []).map((one) => `${one.reason}: ${one.message}`),
  ].filter(Boolean);
  const changed = [...steps.flatMap((one) => one.fields || []), ...(entry.drift || [])];
  const query = encodeURIComponent(`${kind} ${namespace}/${name}`);
  return h("li", { "data-change": entry.id },
    h("div", {}, ago(entry.at), " ",
      h("strong", {}, entry.what), " ",
      link && name && h("a", { href: `#/objects?q=${query}` }, `${kind} ${namespace ? `${namespace}/` : ""}${name}${more}`), " ",
      entry.failed && h("span", { class: "wrong" }, "failed "),
      calls(entry)),
    h("div", { class: "small muted" }, `by ${entry.who}`, reasons.length ? ` — ${reasons[0]}` : ""),
    (changed.length || reasons.length > 1) && h("details", { class: "small", "data-key": `change-${entry.id}` },
      h("summary", {}, "Details"),
      reasons.slice(1).map((reason) => h("p", {}, reason)),
      changed.length && fields(changed),
      (entry.calls || []).length && h("p", { class: "muted" }, entry.calls.map((one) => `${one.count} × ${one.target} ${one.operation}`).join(", "))));
}
