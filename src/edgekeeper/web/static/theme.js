// Sets the theme before the page is drawn. `auto` follows the system.
"use strict";
(function () {
  let chosen = "auto";
  try { chosen = localStorage.getItem("theme") || "auto"; } catch { /* storage may be disabled */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
