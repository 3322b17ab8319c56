// The list of objects: filtered, searched, sorted and paged by the server.
import { announce, h, show, table } from "/dom.js";
import { get } from "/api.js";
import { STATES, address, ago, badge, title, waits } from "/words.js";

const SORTS = { problems: "Problems first", name: "Name", kind: "Kind", newest: "Newest" };
let last = "#/objects";

export function lastList() {
  return last;
}

export function href(parameters) {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value && value !== "problems"));
  if (given.get("page") === "1") given.delete("page");
  return `#/objects${given.size ? `?${given}` : ""}`;
}

export async function objects(context) {
  const parameters = Object.fromEntries(context.query);
  const data = await get(`/api/objects?${context.query}`, context);
  last = href(parameters);
  document.title = "Objects – edgekeeper";
  const search = document.getElementById("search");
  if (document.activeElement !== search) search.value = parameters.q || "";
  show(
    h("h1", {}, heading(data, parameters)),
    h("section", { "aria-label": "Objects" },
      filters(data, parameters),
      data.items.length
        ? table(`Objects, page ${data.page} of ${data.pages}`, ["State", "Object", "Hostnames", "Why", "Waits for", "Since"], data.items.map((row) => rowElement(row)))
        : h("p", { class: "muted" }, "No object matches. ", h("a", { href: "#/objects", "data-key": "all" }, "Show all")),
      pager(data, parameters)));
  if (context.isNew) announce(`${data.total} objects`);
}

function heading(data, parameters) {
  const what = parameters.kind || (data.total === 1 ? "object" : "objects");
  const state = parameters.state ? `, ${STATES[parameters.state] || parameters.state}` : "";
  return `${data.total} ${what}${state}${parameters.q ? `, “${parameters.q}”` : ""}`;
}

function filters(data, parameters) {
  const go = (changed) => { location.hash = href({ ...parameters, page: "", ...changed }); };
  const choice = (label, name, options) => h("label", {}, label,
    h("select", { name, "data-key": `filter-${name}`, on: { change: (event) => go({ [name]: event.target.value }) } },
      options.map(([value, words]) => h("option", { value, selected: value === (parameters[name] || "") }, words))));
  return h("form", { class: "filters", "aria-label": "Filters", on: { submit: (event) => event.preventDefault() } },
    choice("State", "state", [["", "all"], ...Object.entries(STATES).map(([state, words]) => [state, `${words} (${data.states[state] || 0})`])]),
    choice("Kind", "kind", [["", "all"], ...Object.entries(data.kinds).map(([kind, count]) => [kind, `${kind} (${count})`])]),
    h("label", {}, "Namespace", h("input", {
      name: "namespace", value: parameters.namespace || "", "data-key": "filter-namespace", size: 14, autocomplete: "off",
      on: { change: (event) => go({ namespace: event.target.value.trim() }) },
    })),
    choice("Order", "sort", Object.entries(SORTS).map(([value, words]) => [value === "problems" ? "" : value, words])));
}

function pager(data, parameters) {
  if (data.pages < 2) return null;
  const link = (page, words) => page >= 1 && page <= data.pages
    ? h("a", { href: href({ ...parameters, page: String(page) }), "data-key": words }, words)
    : h("span", { class: "muted" }, words);
  return h("nav", { class: "pager", "aria-label": "Pages of the list" },
    link(data.page - 1, "Previous"), `Page ${data.page} of ${data.pages}`, link(data.page + 1, "Next"));
}

export function rowElement(row, { brief = false } = {}) {
  const why = [row.reason, row.message].filter(Boolean).join(": ");
  return h("tr", { "data-id": row.id, "data-brief": brief },
    h("td", {}, badge(row.state)),
    h("th", { scope: "row" },
      h("a", { class: "name", href: address(row.id), "data-key": `row-${row.id}` }, title(row)),
      h("div", { class: "muted small" }, row.kind)),
    !brief && h("td", { "data-label": "Hostnames" }, (row.hostnames || []).join(", ")),
    h("td", { "data-label": "Why" }, row.drift && row.reason !== "DriftDetected" ? `${row.drift} changed outside the operator` : why),
    h("td", { "data-label": "Waits for" }, waits(row)),
    !brief && h("td", { "data-label": "Since", class: "small" }, ago(row.since || row.created)));
}

export function patchRows(rows) {
  // Replaces rows that are on the page. Says how many there are, so that the caller can load the rest.
  let patched = 0;
  for (const row of rows) {
    const old = document.querySelector(`tr[data-id="${CSS.escape(row.id)}"]`);
    if (!old) continue;
    const made = rowElement(row, { brief: old.dataset.brief !== undefined });
    const focused = old.contains(document.activeElement);
    const before = old.querySelector(".state")?.dataset.state;
    made.classList.add("fresh");
    old.replaceWith(made);
    if (focused) made.querySelector("a")?.focus({ preventScroll: true });
    if (before !== row.state) announce(`${row.kind} ${title(row)}: ${STATES[row.state]}`);
    patched += 1;
  }
  return patched;
}
