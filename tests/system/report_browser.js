// What a browser can say of a page: contrast of every text, what sticks out, what is unnamed.
(() => {
  const visible = (node) => {
    // What lies in a closed fold has a place, too, but is not seen.
    return node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })
      && node.getClientRects().length > 0;
  };

  const parse = (text) => {
    const parts = /rgba?\(([^)]*)\)/.exec(text);
    if (!parts) throw new Error("no colour: " + text);
    const [r, g, b, a = 1] = parts[1].split(/[ ,/]+/).map(Number);
    return [r, g, b, a];
  };

  const over = ([r, g, b, a], [R, G, B]) => [a * r + (1 - a) * R, a * g + (1 - a) * G, a * b + (1 - a) * B, 1];

  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((one) => {
      const part = one / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };

  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  const beneath = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) {
      layers.push(parse(getComputedStyle(one).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };

  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const node = walker.currentNode, parent = node.parentElement;
      if (!node.textContent.trim() || /^(SCRIPT|STYLE|NOSCRIPT|OPTION)$/i.test(parent.tagName)) continue;
      if (visible(parent)) found.push([node, parent]);
    }
    return found;
  };

  window.review = {
    contrast() {
      const bad = [];
      let seen = 0, drawn = 0;
      for (const [node, parent] of texts()) {
        // On coloured cells; a unit test has the contrast of their letters.
        if (parent.closest("text.c")) continue;
        const inFigure = parent.closest("svg") !== null;
        const style = getComputedStyle(parent);
        const back = beneath(inFigure ? parent.closest("div") : parent);
        let fore = parse(inFigure ? style.fill : style.color);
        for (let one = parent; one; one = one.parentElement) fore[3] *= Number(getComputedStyle(one).opacity);
        const found = contrast(over(fore, back), back);
        seen += 1;
        drawn += inFigure;
        if (found < 4.5) bad.push(found.toFixed(2) + " " + node.textContent.trim().slice(0, 40));
      }
      for (const one of document.querySelectorAll("input, select, button")) {
        if (!visible(one) || one.disabled) continue;
        const back = beneath(one), found = contrast(parse(getComputedStyle(one).color), back);
        if (found < 4.5) bad.push(found.toFixed(2) + " control " + one.id);
      }
      return { bad, seen, drawn };
    },

    overflow() {
      const width = document.documentElement.clientWidth, bad = [];
      const scroller = document.scrollingElement;
      if (scroller.scrollWidth > scroller.clientWidth) bad.push("page " + scroller.scrollWidth);
      for (const one of document.body.querySelectorAll("*")) {
        if (!visible(one) || one.closest("svg") || one.closest(".skip")) continue;
        let inside = false;
        for (let up = one.parentElement; up; up = up.parentElement) {
          if (/auto|scroll/.test(getComputedStyle(up).overflowX)) inside = true;
        }
        if (!inside && one.getBoundingClientRect().right > width + 0.5) bad.push(one.tagName + "." + one.className);
      }
      for (const one of document.querySelectorAll("figure")) {
        if (one.scrollHeight > one.clientHeight + 1) bad.push("figure too high " + one.getAttribute("aria-label").slice(0, 40));
        if (one.scrollWidth > one.clientWidth + 1) bad.push("figure " + one.scrollWidth + " " + one.getAttribute("aria-label").slice(0, 40));
        const box = one.getBoundingClientRect();
        for (const text of one.querySelectorAll("svg text")) {
          const place = text.getBoundingClientRect();
          if (place.width && (place.left < box.left - 2 || place.right > box.right + 2 || place.bottom > box.bottom + 2)) bad.push("cut: " + text.textContent);
        }
      }
      return bad;
    },

    overlaps() {
      const bad = [];
      for (const one of document.querySelectorAll("figure")) {
        const texts = [...one.querySelectorAll(".plot text")].filter((text) => visible(text) && text.textContent.trim());
        // A text of several lines is its lines: an empty first one covers nothing.
        const lines = (text) => (text.querySelector("tspan[x]") ? [...text.querySelectorAll("tspan[x]")] : [text]);
        const boxes = texts.flatMap((text) => lines(text).filter((part) => part.textContent.trim())
          .map((part) => [part.textContent, part.getBoundingClientRect()]));
        boxes.forEach(([name, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (across > 1 && down > 4) bad.push(name + " | " + other);
        }));
      }
      return bad;
    },

    names() {
      const bad = [];
      for (const one of document.querySelectorAll("input, select, textarea")) {
        if (!one.labels.length && !one.getAttribute("aria-label")) bad.push(one.outerHTML.slice(0, 80));
      }
      for (const one of document.querySelectorAll("button, a, summary")) {
        if (!one.textContent.trim()) bad.push(one.outerHTML.slice(0, 80));
      }
      for (const one of document.querySelectorAll("img")) if (!one.alt) bad.push("img");
      for (const one of document.querySelectorAll("figure")) if (!one.getAttribute("aria-label")) bad.push("figure");
      for (const one of document.querySelectorAll("[id]")) {
        if (document.querySelectorAll("#" + CSS.escape(one.id)).length > 1 && !one.closest("svg")) bad.push("twice " + one.id);
      }
      const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(visible).map((one) => Number(one.tagName[1]));
      levels.forEach((level, i) => { if (level > (i ? levels[i - 1] : 0) + 1) bad.push("jump to h" + level); });
      for (const one of document.body.children) {
        if (!/^(HEADER|MAIN|NAV|FOOTER|SCRIPT|SVG)$/i.test(one.tagName) && one.className !== "skip" && visible(one)) bad.push("outside landmarks: " + one.tagName + one.id);
      }
      return bad;
    },

    reachable() {
      const kinds = "a[href], button, input, select, summary, [tabindex='0']";
      return [...document.querySelectorAll(kinds)].filter((one) => visible(one) && !one.disabled).length;
    },
  };
})();
