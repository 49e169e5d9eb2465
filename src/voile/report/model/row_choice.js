// Shows the explanation of the chosen row.
(function () {
  "use strict";
  const choice = document.getElementById("row-choice");
  function show() {
    for (const one of document.querySelectorAll(".told")) {
      one.classList.toggle("chosen", one.id === "told-" + choice.value);
    }
  }
  choice.addEventListener("change", show);
  show();
})();
