// What a threshold does, computed in the page from released counts, as
// voile.models.evaluation.thresholds does. Nothing is sent anywhere.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("threshold-data").textContent);
  const byId = (name) => document.getElementById(name);
  const choice = byId("threshold-class"), slider = byId("threshold"), field = byId("prevalence");
  const PER = 1000;

  // -- intervals: see docs/proofs/evaluation.md ---------------------------------------------------

  // Shares p for which inside - p rows is within the reach of its standard error at p.
  function share(inside, outside, noiseIn, noiseOut, both, together) {
    const a = Math.max(inside, 0), rows = a + Math.max(outside, 0), square = data.reach ** 2;
    const value = rows > 0 ? a / rows : 0.5;
    const doubt = square * Math.max(noiseIn + noiseOut + 2 * both, 0);
    if (rows <= 0 || rows * rows <= doubt) return { value, low: 0, high: 1, lost: true };
    const sample = square * together * (rows + Math.sqrt(doubt));
    const x = rows * rows - doubt + sample;
    const y = -2 * a * rows + 2 * square * (noiseIn + both) - sample;
    const z = a * a - square * noiseIn;
    const root = Math.sqrt(Math.max(y * y - 4 * x * z, 0));
    const low = Math.max((-y - root) / (2 * x), 0), high = Math.min((-y + root) / (2 * x), 1);
    return { value, low: Math.min(low, value), high: Math.max(high, value), lost: low === 0 && high === 1 };
  }

  const times = (one, by) => ({ value: by * one.value, low: by * one.low, high: by * one.high, lost: one.lost });
  const rest = (one, whole) => ({ value: whole - one.value, low: whole - one.high, high: whole - one.low, lost: one.lost });

  function partOf(inside, outside) {
    const rows = inside.value + outside.value;
    if (!(rows > 0) || inside.lost || outside.lost) return { value: 0.5, low: 0, high: 1, lost: true };
    return { value: inside.value / rows, low: inside.low / Math.max(inside.low + outside.high, 1e-300),
      high: inside.high / Math.max(inside.high + outside.low, 1e-300), lost: false };
  }

  function sum(first, second) {
    const value = first.value + second.value;
    return { value, lost: first.lost || second.lost,
      low: Math.max(value - Math.hypot(first.value - first.low, second.value - second.low), 0),
      high: Math.min(value + Math.hypot(first.high - first.value, second.high - second.value), 1) };
  }

  function figures(scores, i, prevalence) {
    const [hit, alarm, missed, passed] = scores.sides[i];
    const above = scores.above[i], below = scores.below[i], both = scores.both[i];
    const whole = Math.max(above + below + 2 * both, 0), k = scores.together;
    const sensitivity = share(hit, missed, above, below, both, k);
    const specificity = share(passed, alarm, below, above, both, k);
    const own = share(hit + missed, passed + alarm, whole, whole, 0, k);
    const here = [[hit, above], [alarm, above], [missed, below], [passed, below]].map(([count, noise]) => {
      const far = data.reach * Math.sqrt(noise);
      return { value: count, low: Math.max(count - far, 0), high: count + far, lost: false };
    });
    if (prevalence === null) {
      const all = hit + alarm + missed + passed;
      const part = (count, noise, other) => share(count, all - count, noise, other + whole, both, k);
      return { sensitivity, specificity, own, here,
        ppv: share(hit, alarm, above, above, 0, k), npv: share(passed, missed, below, below, 0, k),
        alarms: share(hit + alarm, missed + passed, 2 * above, 2 * below, 2 * both, k),
        counts: [part(hit, above, below), part(alarm, above, below), part(missed, below, above), part(passed, below, above)] };
    }
    const yes = times(sensitivity, prevalence), no = times(specificity, 1 - prevalence);
    const missing = rest(yes, prevalence), wrong = rest(no, 1 - prevalence);
    return { sensitivity, specificity, own, here, ppv: partOf(yes, wrong), npv: partOf(no, missing),
      alarms: sum(yes, wrong), counts: [yes, wrong, missing, no] };
  }

  // -- numbers as people write them, as voile.models.evaluation.measure does ----------------------

  function shown(one, by, unit) {
    if (one.lost) return { value: "lost in the noise", ends: "" };
    const width = (one.high - one.low) * by;
    const places = width > 0 ? -Math.floor(Math.log10(width / 4)) : 4;
    const digits = Math.min(Math.max(places, 0), 8), step = 10 ** -Math.min(places, 0);
    const text = (number) => (Math.round((number * by) / step) * step + 0).toLocaleString("en-GB",
      { minimumFractionDigits: digits, maximumFractionDigits: digits });
    const exact = (number) => (digits ? (number * by).toLocaleString("en-GB",
      { minimumFractionDigits: digits, maximumFractionDigits: digits }) : text(number)).replace(/^-0(?![1-9.]*[1-9])/, "0");
    return { value: exact(one.value) + unit, ends: exact(one.low) + " to " + exact(one.high) + unit };
  }

  const level = (scores, i) => (scores.scale === "probability"
    ? String(Math.round(scores.thresholds[i] * 1e6) / 1e4) + " %" : String(scores.thresholds[i]));

  // -- the form -----------------------------------------------------------------------------------

  const chosen = () => data.scores[choice ? Number(choice.value) : 0];

  function element(tag, text, name) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function rate(name, one, meaning, by, unit) {
    const box = element("div", ""), told = shown(one, by, unit);
    const figure = element("dd", "");
    figure.append(element("b", told.value), element("span", told.ends), element("small", meaning));
    box.append(element("dt", name), figure);
    return box;
  }

  function asked() {
    const given = Number(field.value.replace(",", "."));
    return field.value.trim() !== "" && given > 0 && given < 100 ? given / 100 : null;
  }

  function show() {
    const scores = chosen(), i = Number(slider.value), prevalence = asked();
    const found = figures(scores, i, prevalence), what = "'" + scores.positive + "'";
    const own = shown(found.own, 100, " %");
    byId("threshold-told").textContent = level(scores, i);
    byId("prevalence-told").textContent = (prevalence === null ? "now as among the rows measured: " : "among the rows measured: ")
      + own.value + (own.ends ? " (" + own.ends + ")" : "");
    const alarms = shown(found.alarms, PER, "");
    byId("alarm-told").textContent = "Alarm above " + level(scores, i) + ": " + alarms.value
      + " of 1,000 rows" + (alarms.ends ? " (" + alarms.ends + ")" : "") + ".";
    byId("rates").replaceChildren(
      rate("Sensitivity", found.sensitivity, "of " + what + ", so many have an alarm", 100, " %"),
      rate("Specificity", found.specificity, "of all others, so many have none", 100, " %"),
      rate("PPV", found.ppv, "of alarms, so many are " + what, 100, " %"),
      rate("NPV", found.npv, "without an alarm, so many are not " + what, 100, " %"));
    const names = ["true positives: " + what + ", alarm", "false positives: not " + what + ", alarm",
      "false negatives: " + what + ", no alarm", "true negatives: not " + what + ", no alarm"];
    byId("expected").replaceChildren(...names.map((name, k) => {
      const line = document.createElement("tr");
      line.append(element("td", name));
      for (const told of [shown(found.counts[k], PER, ""), shown(found.here[k], 1, "")]) {
        line.append(element("td", told.value + (told.ends ? " (" + told.ends + ")" : ""), "number"));
      }
      return line;
    }));
    byId("thresholds").dataset.found = JSON.stringify(found);
    slider.setAttribute("aria-valuetext", level(scores, i));
  }

  function start() {
    const scores = chosen();
    slider.max = String(scores.thresholds.length - 1);
    slider.value = String(scores.usual);
    show();
  }

  byId("thresholds").addEventListener("submit", (event) => event.preventDefault());
  byId("thresholds").addEventListener("input", (event) => (event.target === choice ? start() : show()));
  byId("prevalence-here").addEventListener("click", () => { field.value = ""; show(); });
  start();
})();
