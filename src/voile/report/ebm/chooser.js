// The explanation of one row of an additive model, computed in the page from its released scores.
// Nothing is sent anywhere. The bars are plain elements.
(function () {
  "use strict";
  const model = JSON.parse(document.getElementById("model-data").textContent);
  const byId = (name) => document.getElementById(name);
  const all = [...model.terms, ...model.pairs];
  const fields = model.terms.map((term, i) => ({ term, field: byId("field-" + i), gap: byId("missing-" + i) }));
  const rowChoice = byId("row-choice"), told = byId("told"), answer = byId("answer");
  const steps = byId("steps"), chances = byId("chances");

  // -- numbers as people write them, as voile.explain.wording does --------------------------------

  function short(number, digits, grouped) {
    if (!Number.isFinite(number)) return "unknown";
    const size = Math.abs(number);
    if (size !== 0 && !(size >= 1e-4 && size < 1e15)) return number.toExponential(digits - 1);
    const decimals = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    let text = number.toLocaleString("en-GB", {
      minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: grouped });
    if (decimals) text = text.replace(/0+$/, "").replace(/\.$/, "");
    return text === "-0" ? "0" : text;
  }

  function readable(number, error) {
    const half = 2 * Math.abs(error);
    if (error === null || !(half > 0 && Number.isFinite(half) && Number.isFinite(number))) return number;
    return Number(number.toFixed(Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), 100))) + 0;
  }

  function noisy(number, error, added) {
    const told = readable(number, error);
    let text = short(told, 3, true);
    if (added && told > 0 && text !== "0") text = "+" + text;
    return error === 0 ? text : text + " ± " + short(error === null ? Infinity : 2 * error, 2, true);
  }

  function percent(share) {
    if (share > 0 && share < 0.001) return "under 0.1 %";
    if (share > 0.999 && share < 1) return "over 99.9 %";
    return (100 * share).toFixed(Math.min(share, 1 - share) < 0.02 ? 1 : 0) + " %";
  }

  // -- the model --------------------------------------------------------------------------------

  // A value equal to a cut belongs to the right of it; the last bin is for missing values.
  function findBin(term, value) {
    const last = term.scores.length - 1;
    if (value === null) return last;
    return term.kind === "category" ? Math.min(value, last) : countBelow(term.cuts, value);
  }

  function countBelow(cuts, value) {
    let low = 0, high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cuts[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Which part of one side of a pair's grid: levels of a category stand in groups.
  function findPart(side, value) {
    if (side.groups.length) return side.groups[Math.min(value, side.groups.length - 1)];
    return value === null ? side.cuts.length + 1 : countBelow(side.cuts, value);
  }

  // Position of a row's cell among all cells of a pair.
  function findCell(pair, values) {
    const [row, column] = pair.sides.map((side) => findPart(side, values[side.term]));
    return row * pair.width + column;
  }

  function respond(scores) {
    if (model.link === "identity") return [Math.min(Math.max(scores[0], model.lower), model.upper)];
    if (model.link === "log") {
      const rate = Math.exp(scores[0]);
      return [model.rates ? rate : Math.min(Math.max(rate, model.lower), model.upper)];
    }
    if (model.link === "logit") {
      const positive = logistic(scores[0]);
      return [1 - positive, positive];
    }
    const top = Math.max(...scores);
    const parts = scores.map((score) => Math.exp(score - top));
    const sum = parts.reduce((all, one) => all + one, 0);
    return parts.map((part) => part / sum);
  }

  function logistic(score) {
    return score >= 0 ? 1 / (1 + Math.exp(-score)) : Math.exp(score) / (1 + Math.exp(score));
  }

  function root(errors) {
    return errors.some((one) => one === null) ? null
      : Math.sqrt(errors.reduce((all, one) => all + one * one, 0));
  }

  function explain(values) {
    // Terms, then pairs: what each adds to every score.
    const places = [...model.terms.map((term, i) => findBin(term, values[i])),
      ...model.pairs.map((pair) => findCell(pair, values))];
    const parts = places.map((place, i) => ({ i, scores: all[i].scores[place], errors: all[i].errors[place] }));
    const scores = model.intercept.slice();
    parts.forEach((part) => part.scores.forEach((one, k) => { scores[k] += one; }));
    return {
      parts, scores,
      errors: model.intercept_errors.map((one, k) => root([one, ...parts.map((part) => part.errors[k])])),
      predictions: respond(scores),
    };
  }

  // -- the form ---------------------------------------------------------------------------------

  function read({ term, field, gap }) {
    if (term.kind === "category") return Number(field.value);
    if (gap.checked || field.value.trim() === "") return null;
    const number = given(term, field);
    return Number.isFinite(number) ? settle(term, Math.min(Math.max(number, term.lower), term.upper)) : null;
  }

  // Dates are seconds since 1970 UTC, and stand in their fields as "2024-01-31" or "2024-01-31T08:30".
  function given(term, field) {
    if (term.scale === "day") return Date.parse(field.value + "T00:00:00Z") / 1000;
    if (term.scale === "time") return Date.parse(field.value + "Z") / 1000;
    return Number(field.value);
  }

  function settle(term, number) {
    if (term.scale === "whole") return Math.floor(number + 0.5);
    return term.scale === "day" ? Math.floor(number / 86400) * 86400 : number;
  }

  function write(term, value) {
    if (term.scale === "day") return new Date(1000 * value).toISOString().slice(0, 10);
    if (term.scale === "time") return new Date(1000 * value).toISOString().slice(0, value % 60 ? 19 : 16);
    return String(value);
  }

  function name(term, value) {
    return term.scale === "day" || term.scale === "time" ? write(term, value).replace("T", " ") : short(value, 10, false);
  }

  function fill(values) {
    fields.forEach(({ term, field, gap }, i) => {
      const value = values[i];
      if (term.kind === "category") {
        field.value = String(value);
        return;
      }
      gap.checked = value === null;
      field.disabled = value === null;
      field.value = value === null ? "" : write(term, value);
    });
  }

  function tell(value, { term, field }) {
    if (term.kind === "category") return field.options[field.selectedIndex].textContent;
    if (value === null) return "(missing)";
    const own = given(term, field);
    return own === value ? name(term, value) : name(term, own) + ", read as " + name(term, value);
  }

  // -- what is shown ----------------------------------------------------------------------------

  function sentence(found) {
    if (model.link === "identity") {
      return "Prediction: " + short(found.predictions[0], 4, true)
        + (found.errors[0] === 0 ? "" : " (" + model.interval + ":" + " ± " + short(found.errors[0] === null ? Infinity : 2 * found.errors[0], 2, true) + ")");
    }
    if (model.link === "log") {
      const error = found.errors[0] === null ? Infinity : found.errors[0];
      const ends = [-2, 2].map((side) => short(found.predictions[0] * Math.exp(side * error), 3));
      const what = model.outputs[0].charAt(0).toUpperCase() + model.outputs[0].slice(1);
      return what + ": " + short(found.predictions[0], 3)
        + (error === 0 ? "" : " (" + model.interval + ": " + ends.join(" to ") + ")");
    }
    const best = found.predictions.indexOf(Math.max(...found.predictions));
    let text = "Prediction: '" + model.classes[best] + "' with probability " + percent(found.predictions[best]);
    if (model.link === "logit" && found.errors[0] > 0) {
      const sign = best === 1 ? 1 : -1;
      const ends = [-2, 2].map((side) => percent(logistic(sign * found.scores[0] + side * found.errors[0])));
      if (ends[0] !== ends[1]) text += " (" + model.interval + ": " + ends.join(" to ") + ")";
    }
    return text;
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // A bar from the middle; a thin line shows two standard errors of the noise to both sides.
  function bar(size, error, top) {
    const track = element("span", "bar");
    track.setAttribute("aria-hidden", "true");
    const place = (value) => 50 + 50 * Math.min(Math.max(value / top, -1), 1);
    const add = (name, from, to) => {
      const part = element("i", name);
      part.style.left = Math.min(from, to) + "%";
      part.style.width = Math.abs(to - from) + "%";
      track.append(part);
    };
    add(size > 0 ? "raise" : "lower", 50, place(size));
    track.append(element("i", "zero"));
    if (error) add("noise", place(size - 2 * error), place(size + 2 * error));
    return track;
  }

  // What a score alone makes of the base value, or a whole score of nothing, as a probability; of
  // scores that multiply the prediction, by what, or the prediction.
  function alone(size, added) {
    if (model.link === "log") return (added ? "x" : "") + short(Math.exp(Math.min(size, 700)), 3, false);
    const base = model.intercept[0];
    return added ? "alone " + percent(logistic(base)) + " → " + percent(logistic(base + size)) : percent(logistic(size));
  }

  function line(what, size, error, top, added) {
    const made = element("li", added ? "" : "whole");
    const amount = element("span", "amount", noisy(size, error, added));
    const name = element("span", "what", what);
    if (model.link === "logit" || model.link === "log") name.append(element("small", "alone", alone(size, added)));
    made.append(name, amount, added ? bar(size, error, top) : element("span", "bar"));
    made.dataset.value = String(size);
    made.dataset.error = String(error);
    return made;
  }

  function show() {
    const values = fields.map(read);
    const found = explain(values);
    const best = found.predictions.indexOf(Math.max(...found.predictions));
    const k = !told ? 0 : told.value === "best" ? best : Number(told.value);
    const parts = found.parts.map(({ i, scores, errors }) => ({ i, size: scores[k], error: errors[k] }));
    parts.sort((a, b) => Math.abs(b.size) - Math.abs(a.size) || a.i - b.i);
    const top = Math.max(1e-300, ...parts.map((one) => Math.abs(one.size) + 2 * (one.error || 0)));
    steps.replaceChildren(
      line("starts at", model.intercept[k], model.intercept_errors[k], top, false),
      ...parts.map((one) => {
        const of = one.i < fields.length ? [one.i] : all[one.i].sides.map((side) => side.term);
        const text = of.map((i) => tell(values[i], fields[i])).join(" & ");
        const made = line(all[one.i].name + " = " + text, one.size, one.error, top, true);
        made.dataset.term = String(one.i);
        return made;
      }),
      line(model.outputs.length > 1 ? "score of '" + model.outputs[k] + "'" : "score", found.scores[k], found.errors[k], top, false));
    if (chances) {
      chances.replaceChildren(...model.classes.map((name, i) =>
        element("li", "", "'" + name + "' " + percent(found.predictions[i]))));
    }
    // Changed once, so that it is read out once.
    answer.textContent = sentence(found) + ". Score: " + noisy(found.scores[k], found.errors[k], false)
      + (model.outputs.length > 1 ? " for '" + model.outputs[k] + "'." : ".");
    answer.dataset.scores = JSON.stringify(found.scores);
    answer.dataset.errors = JSON.stringify(found.errors);
    answer.dataset.predictions = JSON.stringify(found.predictions);
  }

  byId("row-form").addEventListener("submit", (event) => event.preventDefault());
  byId("row-form").addEventListener("input", (event) => {
    if (event.target === rowChoice) {
      if (rowChoice.value !== "") fill(model.rows[Number(rowChoice.value)]);
    } else {
      fields.forEach(({ field, gap }) => { if (gap) field.disabled = gap.checked; });
      if (rowChoice && event.target !== told) rowChoice.value = "";
    }
    show();
  });
  byId("typical").addEventListener("click", () => {
    fill(model.typical);
    if (rowChoice) rowChoice.value = "";
    show();
  });
  fill(model.rows.length ? model.rows[0] : model.typical);
  if (rowChoice) rowChoice.value = "0";
  show();
})();
