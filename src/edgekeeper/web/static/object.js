// The page of one object.
import { h, section, show, table } from "/dom.js";
import { get } from "/api.js";
import { lastList } from "/objects.js";
import { address, ago, badge, changes, diffTable, due, duration, fields, prose, title } from "/words.js";

let plan = null; // {id, data}: stays on the page while it is updated

export async function object(context) {
  const id = context.path;
  const data = await get(`/api/object/${path(id)}`, context);
  const graph = data.hasGraph ? await get(`/api/graph/${path(id)}`, context).catch((error) => ({ problem: error.message })) : null;
  const row = data.row;
  if (plan?.id !== id) plan = null;
  const open = new Set([...document.querySelectorAll("details[open][data-key]")].map((one) => one.dataset.key));
  document.title = `${title(row)} – edgekeeper`;
  show(
    h("nav", { "aria-label": "Path", class: "small" }, h("a", { href: lastList(), "data-key": "back" }, "Objects"), ` / ${row.kind}`),
    h("h1", {}, `${row.kind} ${title(row)} `, badge(row.state)),
    waiting(data),
    graphed(data, graph),
    h("div", { class: "columns" },
      h("div", {}, drift(data), conditions(data), planned(data, context), section("Recent changes", changes(data.timeline, { link: false }))),
      h("div", {}, facts(data), resources(data.resources), raw(data.object))));
  for (const one of document.querySelectorAll("details[data-key]")) one.open = open.has(one.dataset.key);
}

function path(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}

function waiting(data) {
  const list = data.problems.filter((one) => one.reason || one.message);
  const next = data.nextPass !== undefined && data.nextPass !== null
    && h("p", { class: "muted small" }, data.nextPass ? `It is looked at again within ${duration(data.nextPass)}, or when something changes.` : "It is looked at now.");
  if (!list.length) {
    return section("State", h("p", {}, `${data.row.reason}${data.row.message ? `: ${data.row.message}` : ""}`), next);
  }
  return section("What it waits for", list.map((one) => advice(one, data.row.state)), next);
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
    h("th", { scope: "row" }, h("span", { class: "state", "data-state": one.wrong ? "attention" : "ready" }, one.type), h("div", { class: "muted small" }, one.status)),
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
  if (!(data.fields || []).length) return section("Drift", h("p", {}, `Changed outside the operator: ${data.summary}`), when);
  return section("Drift", when, diffTable("What was changed outside the operator", data.fields, "In the cloud", "Declared"));
}

function planned(data, context) {
  if (!data.plannable) return null;
  const place = h("div", { id: "plan", "aria-live": "polite" });
  const button = h("button", { type: "button", "data-key": "plan", on: { click: () => load() } }, "Show the plan");
  async function load() {
    button.disabled = true;
    place.replaceChildren(h("p", { class: "muted" }, "Reading the clouds …"));
    try {
      plan = { id: context.path, data: await get(`/api/plan/${path(context.path)}`) };
      draw(place, plan.data);
    } catch (error) {
      place.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
    button.disabled = false;
  }
  if (plan) draw(place, plan.data);
  return section("Plan", h("p", { class: "muted small" }, "What the operator would do now, as edgekeeper plan prints it. Reads the clouds, and changes nothing."), button, place);
}

function draw(place, data) {
  const steps = data.steps || [];
  place.replaceChildren(
    h("p", {}, h("strong", {}, data.words), " ", h("span", { class: "muted small" }, "computed ", ago(data.at))),
    data.error ? h("p", { class: "wrong" }, data.error) : "",
    steps.length ? h("ol", { class: "steps" }, steps.map((step) => h("li", {}, step.what, step.waits && h("span", { class: "chip" }, "waits"), h("div", { class: "muted small" }, step.why), (step.fields || []).length ? fields(step.fields) : ""))) : "",
    (data.drift || []).length ? diffTable("What differs", data.drift, "In the cloud", "Declared") : "");
}

function graphed(data, graph) {
  if (!graph) return null;
  if (graph.problem) return section("Graph", h("p", { class: "wrong" }, graph.problem));
  const source = `/api/graph.svg/${path(data.row.id)}?${encodeURIComponent(graph.nodes.map((one) => one.state).join())}`;
  return section("Graph",
    h("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Graph, scrollable", "data-key": "graph" }, h("img", { src: source, alt: `The resources of ${title(data.row)} and what they need; the table below has the same` })),
    table("Resources of the instance", ["Resource", "Kind", "State", "Needs"], graph.nodes.map((one) => h("tr", {},
      h("th", { scope: "row" }, (one.objects || []).length === 1 && isShown(one) ? h("a", { href: address(one.objects[0]), "data-key": `node-${one.id}` }, one.id) : one.id),
      h("td", { "data-label": "Kind" }, one.kind),
      h("td", { "data-label": "State" }, h("span", { class: "state", "data-state": tone(one.state) }, one.state), one.message && h("div", { class: "small" }, one.message)),
      h("td", { "data-label": "Needs" }, (one.needs || []).join(", "))))));
}

function isShown(node) {
  return /DistributionTenant|HTTPRoute|LambdaPermission|APIGatewayDomain/.test(node.objects[0]);
}

function tone(state) {
  if (state === "Ready" || state === "Rendered") return "ready";
  if (state === "Failed" || state === "Error") return "attention";
  return state === "Excluded" || state === "External" ? "paused" : "progressing";
}

function raw(tree) {
  return section("Object", h("details", { "data-key": "raw" }, h("summary", {}, "Show as JSON"), h("pre", { tabindex: 0 }, JSON.stringify(tree, null, 2))));
}
