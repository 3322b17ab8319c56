// Recent changes of all objects.
import { h, section, show } from "/dom.js";
import { get } from "/api.js";
import { change, changes } from "/words.js";

export async function history(context) {
  const data = await get(`/api/changes?${context.query}`, context);
  document.title = "Changes – edgekeeper";
  show(h("h1", {}, "Recent changes"),
    section("Newest first", changes(data.items)),
    data.more && h("p", {}, h("a", { href: `#/changes?before=${data.items.at(-1).id}`, "data-key": "older" }, "Older")));
}

const MOST = 200; // the server sends so many at once

export function addChange(entry) {
  // Puts a new change on top of the list that is shown. Returns whether there is one.
  const list = document.querySelector("ol.changes");
  if (!list) return false;
  if (!list.querySelector(`[data-change="${entry.id}"]`)) list.prepend(change(entry));
  while (list.children.length > MOST) list.lastElementChild.remove();
  return true;
}
