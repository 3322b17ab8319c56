// The first page: what needs somebody, how much there is, what happens.
import { h, section, show, table } from "/dom.js";
import { get } from "/api.js";
import { rowElement } from "/objects.js";
import { STATES, changes, duration } from "/words.js";

export async function overview(context) {
  const data = await get("/api/overview", context);
  document.title = data.states.attention ? `(${data.states.attention}) edgekeeper` : "edgekeeper";
  show(
    h("h1", {}, summary(data)),
    tiles(data.states),
    h("div", { class: "columns" },
      h("div", {}, problems(data.problems), section("Recent changes", changes(data.changes), h("p", {}, h("a", { href: "#/changes", "data-key": "all-changes" }, "All recent changes")))),
      h("div", {}, kinds(data.kinds), budgets(data.budgets), watches(data.watches))));
}

function summary(data) {
  if (!data.total) return "There are no objects yet";
  const needed = data.states.attention || 0;
  if (needed) return needed === 1 ? "1 object needs you" : `${needed} objects need you`;
  const paused = data.states.paused || 0;
  const open = data.total - (data.states.ready || 0) - paused;
  if (open) return `${open} of ${data.total} objects are not ready yet`;
  return paused ? `All ${data.total} objects are as declared, or paused` : `All ${data.total} objects are as declared`;
}

function tiles(states) {
  return h("ul", { class: "tiles", "aria-label": "Objects by state" }, Object.entries(STATES)
    .filter(([state]) => states[state] || state === "ready" || state === "attention")
    .map(([state, words]) => h("li", {},
      h("a", { href: `#/objects?state=${state}`, "data-key": `tile-${state}` },
        h("strong", {}, states[state] || 0),
        h("span", { class: "state", "data-state": state }, words)))));
}

function problems(rows) {
  if (!rows.length) return section("Not as declared", h("p", { class: "muted" }, "Everything is as declared, or paused."));
  return section("Not as declared", table("Objects that are not as declared, the worst first", ["State", "Object", "Why", "Waits for"], rows.map((row) => rowElement(row, { brief: true }))));
}

function kinds(list) {
  return section("Kinds", table("Objects by kind", ["Kind", { title: "Objects", number: true }, { title: "Not ready", number: true }],
    list.map((one) => h("tr", {},
      h("th", { scope: "row" }, h("a", { href: `#/objects?kind=${encodeURIComponent(one.kind)}`, "data-key": `kind-${one.kind}` }, one.kind)),
      h("td", { class: "number" }, one.total),
      h("td", { class: "number" }, ["attention", "progressing", "deleting"].reduce((sum, state) => sum + (one.states[state] || 0), 0)))), { cards: false }));
}

function budgets(list) {
  if (!list.length) return null;
  const columns = ["Class of calls", "Used", { title: "Calls", number: true }, { title: "Waiting now", number: true }, { title: "Mean wait", number: true }];
  return section("API budgets", table("Rate limits of the clouds", columns,
    list.map((one) => h("tr", {},
      h("th", { scope: "row" }, one.lane, h("div", { class: "muted small" }, one.credential)),
      h("td", { "data-label": "Used" }, h("meter", {
        min: 0, max: one.burst, value: Math.max(0, one.burst - one.available), high: one.burst * 0.8,
        "aria-label": `${one.lane}: ${Math.round(one.burst - one.available)} of ${one.burst} used`,
      }), h("div", { class: "muted small" }, `${Math.round(one.burst - one.available)} of ${one.burst}, ${one.rate}/s`)),
      h("td", { class: "number", "data-label": "Calls" }, one.calls),
      h("td", { class: "number", "data-label": "Waiting now" }, waitingNow(one)),
      h("td", { class: "number", "data-label": "Mean wait" }, seconds(one.meanWait)))), { style: "narrow" }));
}

function waitingNow(one) {
  if (one.pausedFor) return `paused for ${duration(one.pausedFor)}`;
  return one.waiting || one.expectedWait ? `${one.waiting}, ${seconds(one.expectedWait)}` : "0";
}

function seconds(value) {
  return value && value < 0.95 ? `${Math.round(value * 1000)} ms` : duration(value);
}

function watches(list) {
  if (!list.length) return null;
  return section("Not watched", table("Kinds whose objects may be out of date", ["Kind", "State"], list.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.kind, one.namespace && ` in ${one.namespace}`),
    h("td", {}, [one.state, one.trouble].filter(Boolean).join(": "))))));
}
