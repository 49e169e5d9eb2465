// Shows the explanation of the chosen row; Plotly then draws its figures.
(function () {
  "use strict";
  const choice = document.getElementById("row-choice");
  function show() {
    for (const one of document.querySelectorAll(".told")) {
      one.classList.toggle("chosen", one.id === "told-" + choice.value);
    }
    document.dispatchEvent(new Event("voile:shown"));
  }
  choice.addEventListener("change", show);
  show();
})();
