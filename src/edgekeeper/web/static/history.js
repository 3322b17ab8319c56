// Recent changes of all objects.
import { h, section, show } from "/dom.js";
import { get } from "/api.js";
import { change, changes } from "/words.js";

export async function history(context) {
  const data = await get(`/api/changes?${context.query}`, context);
  document.title = "Changes – edgekeeper";
  const oldest = data.items.at(-1);
  show(h("h1", {}, "Recent changes"),
    section("Newest first", changes(data.items)),
    oldest && oldest.id > 1 && h("p", {}, h("a", { href: `#/changes?before=${oldest.id}`, "data-key": "older" }, "Older")));
}

export function addChange(entry) {
  // Puts a new change on top of the list that is shown.
  const list = document.querySelector("ol.changes");
  if (!list || list.querySelector(`[data-change="${entry.id}"]`)) return;
  list.prepend(change(entry));
}
