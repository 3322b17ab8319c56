// The page of one object.
import { announce, h, section, show, table } from "/dom.js";
import { get } from "/api.js";
import { lastList } from "/objects.js";
import { STATES, address, ago, badge, changes, diffTable, due, duration, fields, isDark, prose, title } from "/words.js";

let plan = null; // {id, isPending, data, problem}: stays on the page while it is updated
let drawn = ""; // what is on the page; drawn anew only if it is different
let seen = null; // {id, state}: a change of the state is announced
let writer = null; // {id, generation, data}: who changed the object last; asked once for a generation

export async function object(context) {
  const id = context.path;
  const data = await get(`/api/object/${path(id)}`, context);
  const graph = data.hasGraph ? await get(`/api/graph/${path(data.row.id)}`, context).catch(told) : null;
  const row = data.row;
  if (row.id !== id) {
    context.path = row.id; // the address had no group
    window.history.replaceState(null, "", address(row.id));
  }
  if (plan?.id !== row.id) plan = null;
  if (seen?.id === row.id && seen.state !== row.state) announce(`${row.kind} ${title(row)}: ${STATES[row.state]}`);
  seen = { id: row.id, state: row.state };
  document.title = `${title(row)} – edgekeeper`;
  const next = JSON.stringify([{ ...data, nextPass: null }, graph, isDark()]);
  if (!context.isNew && next === drawn && document.querySelector("h1")?.dataset.of === row.id) {
    document.getElementById("next").replaceChildren(nextPass(data));
    await askWriter(data, context);
    return;
  }
  drawn = next;
  show(
    h("nav", { "aria-label": "Path", class: "small path" }, h("a", { href: lastList(), "data-key": "back" }, "Objects"), ` / ${row.kind}`),
    h("h1", { "data-of": row.id }, `${row.kind} ${title(row)} `, badge(row.state)),
    waiting(data),
    graphed(data, graph),
    h("div", { class: "columns" },
      h("div", {}, drift(data), conditions(data), planned(data), section("Recent changes", changes(data.timeline, { link: false }))),
      h("div", {}, facts(data), resources(data.resources || []), raw(data.object))));
  await askWriter(data, context);
}

function told(error) {
  if (error.name === "AbortError") throw error; // somebody has gone elsewhere
  return { problem: error.message };
}

async function askWriter(data, context) {
  const { id } = data.row;
  if (writer?.id !== id || writer.generation !== data.generation) {
    const found = await get(`/api/writer/${path(id)}`, context).catch(told);
    writer = { id, generation: data.generation, data: found };
  }
  document.getElementById("writer")?.replaceChildren(...(writer.data.who ? [`${writer.data.who}, `, ago(writer.data.at)] : ["not known"]));
}

function path(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}

function waiting(data) {
  const list = data.problems.filter((one) => one.reason || one.message);
  const next = h("p", { id: "next", class: "muted small" }, nextPass(data));
  if (!list.length) {
    return section("State", h("p", {}, `${data.row.reason}${data.row.message ? `: ${data.row.message}` : ""}`), next);
  }
  return section(list.some((one) => one.waitsFor) ? "What it waits for" : "What is wrong", list.map((one) => advice(one, data.row.state)), next);
}

function nextPass({ nextPass: seconds }) {
  if (seconds === undefined || seconds === null) return "";
  return seconds ? `It is looked at again within ${duration(seconds)}, or when something changes.` : "It is looked at now.";
}

function advice(one, state) {
  return h("div", { class: "advice", "data-state": one.waitsFor ? "progressing" : state },
    h("p", {}, h("strong", {}, one.reason), one.type && h("span", { class: "muted" }, ` (${one.type})`), one.since && [" since ", ago(one.since)]),
    one.message && h("p", {}, one.message),
    one.cause && h("p", { class: "muted" }, "It means: ", prose(one.cause), "."),
    one.waitsFor && h("p", {}, `It waits for ${one.waitsFor}`, one.until ? [", ", due(one.until)] : "", "."),
    one.action && h("p", {}, h("strong", {}, one.waitsFor ? "If it lasts: " : "What to do: "), prose(one.action)));
}

function conditions(data) {
  if (!data.conditions.length) return null;
  return section("Conditions", table("Conditions", ["Condition", "Says", "Since"], data.conditions.map((one) => h("tr", {},
    h("th", { scope: "row" }, h("span", { class: "state", "data-state": one.wrong ? (one.waitsFor ? "progressing" : "attention") : "ready" }, one.type), h("div", { class: "muted small" }, one.status)),
    h("td", { "data-label": "Says" }, h("span", {}, one.reason), one.message && h("div", {}, one.message)),
    h("td", { "data-label": "Since", class: "small" }, ago(one.since))))));
}

function facts(data) {
  const { row } = data;
  const list = [
    ["Hostnames", (row.hostnames || []).join(", ")],
    ["API version", data.apiVersion],
    ["Generation", data.observedGeneration === null || data.observedGeneration === undefined ? data.generation : `${data.generation}, observed ${data.observedGeneration}`],
    ["Created", row.created && ago(row.created)],
    ["Last changed by", h("span", { id: "writer" }, writer?.id === row.id ? writer.data.who || "not known" : "…")],
    ...Object.entries(data.references),
  ].filter(([, value]) => value);
  return section("About it", h("dl", { class: "facts" }, list.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function resources(list) {
  if (!list.length) return null;
  return section("In the clouds", table("What it has in the clouds", ["What", "Which"], list.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.kind),
    h("td", { "data-label": "Which" },
      one.url ? h("a", { href: one.url, target: "_blank", rel: "noopener noreferrer", "data-key": one.url }, one.id) : one.id,
      one.detail && h("div", { class: "muted small" }, one.detail))))));
}

function drift({ drift: data, row }) {
  if (!data) return null;
  const when = data.at ? h("p", { class: "muted small" }, row.drift ? "Seen " : "There is no drift now. Last seen ", ago(data.at), ".") : null;
  if (!(data.fields || []).length) return section("Drift", h("p", {}, row.message || `Changed outside the operator: ${data.summary}`), when);
  return section("Drift", when, diffTable("What was changed outside the operator", data.fields, "In the cloud", "Declared"));
}

function planned(data) {
  if (!data.plannable) return null;
  const { id } = data.row;
  return section("Plan",
    h("p", { class: "muted small" }, "What the operator would do now, as edgekeeper plan prints it. Reads the clouds, and changes nothing."),
    h("button", { type: "button", "data-key": "plan", "aria-disabled": plan?.isPending, on: { click: () => makePlan(id) } }, "Show the plan"),
    h("div", { id: "plan", "data-of": id, "aria-live": "polite" }, plan && planWords(plan)));
}

async function makePlan(id) {
  if (plan?.isPending) return;
  const made = { id, isPending: true };
  plan = made;
  drawPlan();
  try {
    made.data = await get(`/api/plan/${path(id)}`);
  } catch (error) {
    made.problem = error.message;
  }
  made.isPending = false;
  if (plan === made) drawPlan();
}

function drawPlan() {
  // The page may have been drawn anew, or be another one, since the plan was asked for.
  const place = document.getElementById("plan");
  if (place?.dataset.of !== plan.id) return;
  place.replaceChildren(...planWords(plan).filter(Boolean));
  const button = document.querySelector("[data-key=plan]");
  if (plan.isPending) button.setAttribute("aria-disabled", "true");
  else button.removeAttribute("aria-disabled");
}

function planWords({ isPending, problem, data }) {
  if (isPending) return [h("p", { class: "muted" }, "Reading the clouds …")];
  if (problem) return [h("p", { class: "wrong" }, problem)];
  const steps = data.steps || [];
  return [
    h("p", {}, h("strong", {}, data.words), data.cause && ` (${data.cause})`, " ", h("span", { class: "muted small" }, "computed ", ago(data.at))),
    data.error && h("p", { class: "wrong" }, data.error),
    steps.length > 0 && h("ol", { class: "steps" }, steps.map((step) => h("li", {}, step.what, step.waits && h("span", { class: "chip" }, "waits"), h("div", { class: "muted small" }, step.why), (step.fields || []).length ? fields(step.fields) : ""))),
    (data.drift || []).length > 0 && diffTable("What differs", data.drift, "In the cloud", "Declared"),
  ];
}

function graphed(data, graph) {
  if (!graph) return null;
  if (graph.problem) return section("Graph", h("p", { class: "wrong" }, graph.problem));
  const states = encodeURIComponent(graph.nodes.map((one) => one.state).join()); // another address for another picture
  const source = `/api/graph.svg/${path(data.row.id)}?theme=${isDark() ? "dark" : "light"}&states=${states}`;
  return section("Graph",
    h("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Graph, scrollable", "data-key": "graph" }, h("img", { src: source, alt: `The resources of ${title(data.row)} and what they need; the table below has the same` })),
    table("Resources of the instance", ["Resource", "Kind", "State", "Needs"], graph.nodes.map((one) => h("tr", {},
      h("th", { scope: "row" }, (one.objects || []).length === 1 ? h("a", { href: address(one.objects[0]), "data-key": `node-${one.id}` }, one.id) : one.id),
      h("td", { "data-label": "Kind" }, one.kind),
      h("td", { "data-label": "State" }, h("span", { class: "state", "data-state": tone(one.state) }, one.state), one.message && h("div", { class: "small" }, one.message)),
      h("td", { "data-label": "Needs" }, (one.needs || []).join(", ")))), { style: "whole-words" }));
}

function tone(state) {
  if (state === "Ready" || state === "Rendered") return "ready";
  if (state === "Failed" || state === "Error") return "attention";
  return state === "Excluded" || state === "External" ? "paused" : "progressing";
}

function raw(tree) {
  return section("Object", h("details", { "data-key": "raw" }, h("summary", { "data-key": "raw-summary" }, "Show as JSON"), h("pre", { tabindex: 0, "data-key": "json" }, JSON.stringify(tree, null, 2))));
}
