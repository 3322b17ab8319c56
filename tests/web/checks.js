// What a page must have for people who cannot see it well, or use no mouse. Returns what is wrong, as texts.
(() => {
  const wrong = [];
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest(".hidden, .skip");

  // Names
  for (const control of document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")) {
    if (!shown(control)) continue;
    const label = control.getAttribute("aria-label") || control.textContent.trim()
      || [...(control.labels || [])].map((one) => one.textContent.trim()).join("") || control.querySelector("img[alt]")?.alt;
    if (!label) wrong.push(`no name: ${control.outerHTML.slice(0, 120)}`);
  }
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) wrong.push("image without alt");

  // Structure
  if (!document.documentElement.lang) wrong.push("no language");
  if (document.querySelectorAll("h1").length !== 1) wrong.push(`${document.querySelectorAll("h1").length} h1`);
  if (document.querySelectorAll("main").length !== 1) wrong.push("no main");
  for (const selector of ["header", "nav[aria-label]", "form[role=search]", "[aria-live=polite]"]) {
    if (!document.querySelector(selector)) wrong.push(`no ${selector}`);
  }
  for (const section of document.querySelectorAll("section")) {
    const title = document.getElementById(section.getAttribute("aria-labelledby"));
    if (!title && !section.getAttribute("aria-label")) wrong.push("section without a name");
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent) wrong.push("table without caption");
    const columns = table.querySelectorAll("thead th[scope=col]").length;
    if (!columns) wrong.push("table without column headers");
    for (const row of table.tBodies[0].rows) {
      if (row.cells.length !== columns) wrong.push(`row of ${row.cells.length} cells below ${columns} headers: ${table.caption?.textContent}`);
      if (!row.querySelector("th[scope=row]")) wrong.push("row without header");
    }
  }
  let level = 0;
  for (const heading of document.querySelectorAll("main :is(h1, h2, h3, h4)")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong.push(`heading of level ${own} after ${level}`);
    level = own;
  }
  for (const attribute of ["aria-labelledby", "aria-describedby", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      if (!document.getElementById(element.getAttribute(attribute))) wrong.push(`${attribute} leads nowhere: ${element.outerHTML.slice(0, 80)}`);
    }
  }
  const navigations = [...document.querySelectorAll("nav")].map((one) => one.getAttribute("aria-label"));
  if (new Set(navigations).size !== navigations.length) wrong.push("two navigations of the same name");

  // Large enough to be hit: links in texts may be smaller
  for (const control of document.querySelectorAll("button, input, select, summary, nav a, .tiles a")) {
    const { width, height } = control.getBoundingClientRect();
    if (shown(control) && Math.min(width, height) < 24) wrong.push(`only ${Math.round(width)} × ${Math.round(height)}: ${control.outerHTML.slice(0, 80)}`);
  }

  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`id ${id} twice`);
  if (document.querySelector("[tabindex]:not([tabindex='0']):not([tabindex='-1'])")) wrong.push("a tab order of its own");

  // Contrast: 4.5 to 1 for all texts
  const parse = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return { rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => { const s = value / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, alpha } = parse(getComputedStyle(at).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const contrast = (colour, rgb) => {
    const [light, dark] = [luminance(parse(colour).rgb), luminance(rgb)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !shown(element) || element.closest("noscript, dialog:not([open]), option")) continue;
    texts += 1;
    if (!element.closest("header, main, footer, dialog")) wrong.push(`outside of all landmarks: ${walker.currentNode.textContent.trim().slice(0, 60)}`);
    const ratio = contrast(getComputedStyle(element).color, paper(element));
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.textContent.trim().slice(0, 60)}`);
  }
  for (const field of document.querySelectorAll("input, select, button")) {
    if (!shown(field)) continue;
    const hint = field.placeholder ? contrast(getComputedStyle(field, "::placeholder").color, paper(field)) : 21;
    if (hint < 4.5) wrong.push(`contrast ${hint.toFixed(2)} of a placeholder`);
    const edge = contrast(getComputedStyle(field).borderTopColor, paper(field.parentElement));
    if (edge < 3) wrong.push(`contrast ${edge.toFixed(2)} of the border of ${field.outerHTML.slice(0, 60)}`);
  }
  if (texts < 20) wrong.push(`only ${texts} texts were looked at`);

  // Nothing is cut at the side, nor wider than its panel
  for (const panel of document.querySelectorAll("section")) {
    if (panel.scrollWidth > panel.clientWidth) wrong.push(`${panel.scrollWidth - panel.clientWidth} pixels wider than the panel: ${panel.innerText.slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > window.innerWidth) wrong.push(`${document.documentElement.scrollWidth - window.innerWidth} pixels too wide`);
  return [...new Set(wrong)];
})()
