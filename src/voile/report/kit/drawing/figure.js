// Hints of figures: what the nearest mark says, on pointing at it, tapping it, or by the arrow keys.
(function () {
  "use strict";
  const NEAR = 40;  // pixels within which a single point is meant
  const heard = document.createElement("p");
  heard.className = "heard";
  heard.setAttribute("role", "status");

  function make(name, parent) {
    const made = document.createElement("div");
    made.className = name;
    made.hidden = true;
    parent.append(made);
    return made;
  }

  function start(drawn) {
    const figure = drawn.closest("figure"), data = drawn.querySelector(":scope > script");
    if (!figure || !data) return;
    let told, tip, mark, chosen = -1;

    // The plot that this width shows, and where its panels lie.
    function plot() {
      const shown = [...drawn.querySelectorAll(".plot > svg")].find((one) => one.getClientRects().length);
      const box = shown.getBoundingClientRect(), whole = drawn.getBoundingClientRect();
      return { left: box.left - whole.left, top: box.top - whole.top + Number(shown.dataset.top),
        width: box.width, height: Number(shown.dataset.high), whole };
    }

    const place = (one, area) => [area.left + one[0] / 1000 * area.width, area.top + one[1] / 1000 * area.height];

    // Half a thousandth more, for both were rounded: the nearer one of two is meant.
    const within = (across, down, half, area) =>
      Math.abs(across) <= (half[0] + 1) / 1000 * area.width && Math.abs(down) <= (half[1] + 1) / 1000 * area.height;

    // Lines of its own, or a row of the table that follows: each of its cells after its head.
    function read([, , ...lines]) {
      if (told.lines) return lines.map((i) => told.lines[i]).join("\n");
      const table = figure.nextElementSibling.querySelector("table");
      const head = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
      const [name, ...cells] = [...table.tBodies[0].rows[lines[0]].cells].map((cell) => cell.textContent);
      return [name, ...cells.map((text, i) => head[i + 1] + ": " + text)].join("\n");
    }

    function prepare() {
      if (told) return;
      told = JSON.parse(data.textContent);
      mark = make("at", drawn);
      tip = make("tip", drawn);
    }

    function hide() {
      chosen = -1;
      if (tip) tip.hidden = mark.hidden = true;
    }

    function show(i) {
      const area = plot(), [x, y] = place(told.all[i], area);
      chosen = i;
      tip.textContent = read(told.all[i]);
      tip.hidden = mark.hidden = false;
      mark.style.left = x + "px";
      mark.style.top = y + "px";
      const wide = tip.offsetWidth, high = tip.offsetHeight;
      tip.style.left = Math.max(0, Math.min(x + 12, area.whole.width - wide)) + "px";
      tip.style.top = (y - high - 10 < 0 ? y + 12 : y - high - 10) + "px";
    }

    function point(event) {
      prepare();
      const area = plot();
      const x = event.clientX - area.whole.left, y = event.clientY - area.whole.top;
      let best = -1, least = told.by === "xy" ? NEAR : Infinity;
      told.all.forEach((one, i) => {
        const [a, b] = place(one, area);
        if (told.half && !within(x - a, y - b, told.half[i], area)) return;
        const far = told.by === "x" ? Math.abs(a - x) : told.by === "y" ? Math.abs(b - y) : Math.hypot(a - x, b - y);
        if (far < least) [best, least] = [i, far];
      });
      if (best < 0) hide();
      else if (best !== chosen) show(best);
    }

    drawn.addEventListener("pointermove", point);
    drawn.addEventListener("pointerdown", point);
    drawn.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    figure.tabIndex = 0;
    figure.addEventListener("blur", hide);
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      prepare();
      const count = told.all.length;
      show(chosen < 0 ? (step > 0 ? 0 : count - 1) : (chosen + step + count) % count);
      heard.textContent = tip.textContent;
      event.preventDefault();
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("main").append(heard);
    document.querySelectorAll(".drawn").forEach(start);
  });
})();
