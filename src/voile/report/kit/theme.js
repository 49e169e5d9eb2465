// The reader's choice of light or dark; without it the page follows the screen.
(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("scheme");
    if (!button) return;
    const next = { auto: "light", light: "dark", dark: "auto" };
    let chosen = "auto";
    button.addEventListener("click", () => {
      chosen = next[chosen];
      if (chosen === "auto") delete root.dataset.scheme;
      else root.dataset.scheme = chosen;
      button.textContent = "Colours: " + { auto: "automatic", light: "light", dark: "dark" }[chosen];
    });
  });
})();
