// Figures follow the colours of the page: Plotly draws them, this chooses in which colours.
(function () {
  "use strict";
  const DARK = "@dark", SPLIT = "   |   ", NARROW = 560;
  const root = document.documentElement;
  const asked = window.matchMedia("(prefers-color-scheme: dark)");
  const plain = window.Plotly.newPlot;
  const figures = [];
  let printing = false;

  function isDark() {
    if (printing) return false;
    const chosen = root.dataset.scheme;
    return chosen ? chosen === "dark" : asked.matches;
  }

  function property(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  function colour(value) {
    const key = value.toLowerCase();
    if (key in DARK) return DARK[key];
    const parts = /^rgba\((\d+),(\d+),(\d+),([\d.]+)\)$/.exec(key);
    if (!parts) return value;
    const hex = "#" + parts.slice(1, 4).map((n) => Number(n).toString(16).padStart(2, "0")).join("");
    if (!(hex in DARK)) return value;
    const mixed = [1, 3, 5].map((i) => parseInt(DARK[hex].slice(i, i + 2), 16));
    return "rgba(" + mixed.join(",") + "," + parts[4] + ")";
  }

  // Only what is named a colour is one: a level called "#222" stays as it is.
  function recolour(value, name) {
    if (typeof value === "string") {
      if (/color$/i.test(name)) return colour(value);
      if (name === "ticktext") {
        return value.replace(/<span style="color:(#\w+)/g, (all, one) => '<span style="color:' + colour(one));
      }
      return value;
    }
    if (Array.isArray(value)) {
      return name === "colorscale" ? value : value.map((one) => recolour(one, name));
    }
    if (value && typeof value === "object" && !ArrayBuffer.isView(value)) {
      if ("bdata" in value) return value;
      const result = {};
      for (const key of Object.keys(value)) {
        result[key] = key === "template" ? value[key] : recolour(value[key], key);
      }
      return result;
    }
    return value;
  }

  function clothe(figure) {
    const swap = isDark() ? recolour : (value) => value;
    let data = swap(figure.data, "");
    const layout = Object.assign({}, swap(figure.layout, ""));
    const ink = property("--ink"), line = property("--line");
    layout.font = Object.assign({}, layout.font, { color: ink });
    layout.paper_bgcolor = "rgba(0,0,0,0)";
    if (!figure.layout.plot_bgcolor) layout.plot_bgcolor = "rgba(0,0,0,0)";
    for (const key of Object.keys(layout)) {
      if (!/^[xy]axis\d*$/.test(key)) continue;
      layout[key] = Object.assign({ zerolinecolor: line }, layout[key], { gridcolor: line, linecolor: line });
    }
    for (const key of ["xaxis", "yaxis"]) {
      if (!(key in layout)) layout[key] = { gridcolor: line, zerolinecolor: line };
    }
    if (figure.node.clientWidth <= NARROW) data = makeNarrow(figure, data, layout);
    for (const box of [figure.node, figure.node.parentElement]) {
      if (box.style.height) box.style.height = layout.height + "px";
    }
    if (printing) layout.width = figure.node.parentElement.clientWidth;
    return { data, layout };
  }

  function wrap(text, most) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines[lines.length - 1];
      if (last && last.length + 1 + word.length > most) lines.push(word);
      else lines[lines.length - 1] = last ? last + " " + word : word;
    }
    return lines;
  }

  // Texts of an axis that has `room` pixels, without those that would overlap another. The first
  // and the last stay.
  function thin(axis, room, size) {
    const { tickvals: places, ticktext: texts } = axis, last = places.length - 1;
    const at = (i) => room * (places[i] - places[0]) / (places[last] - places[0]);
    const apart = (i, k) => Math.abs(at(k) - at(i)) >= (size(texts[i]) + size(texts[k])) / 2;
    const kept = [0];
    for (let i = 1; i < last; i++) {
      if (apart(kept[kept.length - 1], i) && apart(i, last)) kept.push(i);
    }
    if (last > 0) kept.push(last);
    return Object.assign({}, axis, {
      tickvals: kept.map((i) => places[i]), ticktext: kept.map((i) => texts[i]) });
  }

  // On a narrow screen a long title beneath would be cut off: it gets several lines. Level texts
  // beside each other, and lines of a map, become fewer where they would overlap. A map of squares
  // needs no more height than width, and a scale where its numbers would be too small to read.
  function makeNarrow(figure, data, layout) {
    const line = Math.max(12, Math.floor(figure.node.clientWidth / 17));
    let most = 1;
    const room = 0.62 * figure.node.clientWidth;
    for (const key of Object.keys(layout)) {
      if (/^xaxis\d*$/.test(key) && layout[key].tickvals && layout[key].tickangle === 0) {
        layout[key] = thin(layout[key], room, (text) => 7 * text.length + 6);
      }
      const title = /^xaxis\d*$/.test(key) && layout[key].title;
      if (!title || !title.text) continue;
      const lines = title.text.split(SPLIT).flatMap((half) => wrap(half, line));
      most = Math.max(most, lines.length);
      layout[key] = Object.assign({}, layout[key], {
        title: Object.assign({}, title, { text: lines.join("<br>"), font: { size: 12 } }) });
    }
    const more = 16 * (most - 1), margin = layout.margin || {};
    layout.margin = Object.assign({}, margin, { b: (margin.b || 45) + more });
    layout.height += more;
    if (!layout.yaxis.scaleanchor) return data;
    if (layout.yaxis.tickvals) layout.yaxis = thin(layout.yaxis, room, () => 13);
    const beside = 6 * Math.max(0, ...(layout.yaxis.ticktext || []).map((text) => text.length));
    if (data.some((one) => one.showscale === false)) layout.margin.b += 50;
    const around = layout.margin.t + layout.margin.b;
    layout.height = Math.min(layout.height, figure.node.clientWidth - beside - 20 + around);
    return data.map((one) => (one.type === "heatmap" ? Object.assign({}, one, { texttemplate: "", showscale: true }) : one));
  }

  function draw(figure) {
    // What is folded or not chosen has no width yet: it is drawn when it is shown.
    if (!figure.node.getClientRects().length) return Promise.resolve(figure.node);
    const { data, layout } = clothe(figure);
    const known = figure.drawn;
    figure.drawn = true;
    const { node, config } = figure;
    if (!known) return plain(node, data, layout, config);
    return window.Plotly.react(node, data, layout, config).then(() => fit(node));
  }

  // Plotly keeps the width of paper when the page is on the screen again.
  function fit(node) {
    const off = Math.abs(node._fullLayout.width - node.clientWidth) > 1;
    if (off && !printing && node.clientWidth) return window.Plotly.Plots.resize(node);
    return node;
  }

  function drawAll() {
    figures.forEach(draw);
  }

  function drawRest() {
    figures.filter((figure) => !figure.drawn).forEach(draw);
  }

  window.Plotly.newPlot = function (place, data, layout, config) {
    const node = typeof place === "string" ? document.getElementById(place) : place;
    const figure = { node, data, layout, config, drawn: false };
    figures.push(figure);
    return draw(figure);
  };

  function setPrinting(on) {
    printing = on;
    root.classList.toggle("printing", on);
    drawAll();
  }

  // Plotly follows a new width by itself; titles that break do not.
  let width = window.innerWidth;
  function resize() {
    const crossed = (width > NARROW) !== (window.innerWidth > NARROW);
    width = window.innerWidth;
    if (crossed) drawAll();
    else drawRest();  // a frame in a notebook may have been hidden until now
  }

  root.classList.add("scripted");
  asked.addEventListener("change", drawAll);
  document.addEventListener("toggle", drawRest, true);
  document.addEventListener("voile:shown", drawRest);
  window.addEventListener("resize", resize);
  // Browsers differ in whether colours have changed back when printing ends: both are heard.
  window.matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
  window.addEventListener("beforeprint", () => setPrinting(true));
  window.addEventListener("afterprint", () => setPrinting(false));

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
      drawAll();
    });
  });
})();
