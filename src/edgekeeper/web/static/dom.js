// Builds elements. Text is always set as text, and addresses are checked: nothing that comes from an object is markup.

const SAFE = /^(https:\/\/|#|\/(?!\/))/;

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "href" || name === "src") {
      if (SAFE.test(value)) element.setAttribute(name, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false || child === "") continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function table(caption, columns, rows, { cards = true, style = "" } = {}) {
  // Columns are titles, or objects {title, number}.
  const titles = columns.map((column) => (typeof column === "string" ? { title: column } : column));
  return h("table", { class: [cards && "cards", style].filter(Boolean).join(" ") || undefined },
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, titles.map((one) => h("th", { scope: "col", class: one.number && "number" }, one.title)))),
    h("tbody", {}, rows));
}

export function section(title, ...children) {
  const id = `title-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

export function show(...children) {
  // Replaces the page. Focus, open parts and scrolled ones stay as they are where the new page has elements of the same keys.
  const main = document.getElementById("main");
  const key = document.activeElement?.dataset?.key;
  const scroll = window.scrollY;
  const open = new Set(keyed(main, "details[open]").map((one) => one.dataset.key));
  const scrolled = new Map(keyed(main, ".graph, pre").map((one) => [one.dataset.key, [one.scrollLeft, one.scrollTop]]));
  main.replaceChildren(...children.filter(Boolean));
  main.setAttribute("aria-busy", "false");
  for (const one of keyed(main, "details")) one.open = open.has(one.dataset.key);
  for (const one of keyed(main, ".graph, pre")) one.scrollTo(...(scrolled.get(one.dataset.key) || [0, 0]));
  if (key) main.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

function keyed(main, selector) {
  return [...main.querySelectorAll(selector)].filter((one) => one.dataset.key);
}

let silence = 0;
export function announce(text) {
  // At most one announcement in two seconds: a screen reader cannot follow more.
  const now = Date.now();
  if (now - silence < 2000) return;
  silence = now;
  document.getElementById("announcer").textContent = text;
}
