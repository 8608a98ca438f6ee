"use strict";
(() => {
  // The page reads without any of this. Here: pointing at cells, pinning, arrow keys, sorting, saving, edges, the slider.
  const NS = "http://www.w3.org/2000/svg", LEVELS = 16;
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const readout = document.getElementById("readout");
  const make = (tag, text = "", kind = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const draw = (tag, attributes, parent) => {
    const made = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  };

  // -- the values behind the maps: bytes of a lower triangle, or the alpha of a picture's pixels -----------------------
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const decoded = new Map();
  let step = data.steps.length - 1;
  const valuesOf = (key) => {
    const live = key.startsWith("t.");
    const name = live ? `${key}@${step}` : key;
    if (!decoded.has(name)) {
      const text = live ? data.along[key.slice(2)][step] : data.maps[key];
      if (text === undefined) return null;
      decoded.set(name, bytes(text));
    }
    return decoded.get(name);
  };
  const shareOf = (key, query, column) => {
    if (column > query) return null;
    if (key.startsWith("d.")) {
      const [a, b] = [shareOf("s0." + key.slice(2), query, column), shareOf("s1." + key.slice(2), query, column)];
      return a === null || b === null ? null : b - a;
    }
    const values = valuesOf(key);
    return values === null ? null : values[(query * (query + 1)) / 2 + column] / 255;
  };
  const pixels = new Map();
  const pixelShare = async (map, query, column) => {
    if (!pixels.has(map.key)) {
      const picture = new Image();
      picture.src = map.element.getAttribute("href");
      await picture.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [map.columns, map.rows];
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(picture, 0, 0);
      pixels.set(map.key, context.getImageData(0, 0, map.columns, map.rows).data);
    }
    const at = 4 * (query * map.columns + column), rgba = pixels.get(map.key);
    return ((map.key.startsWith("d.") && rgba[at] > rgba[at + 2] ? -1 : 1) * rgba[at + 3]) / 255;
  };

  // -- maps: where they are, which cell lies under the pointer ---------------------------------------------------------
  const maps = all("[data-map]").map((element) => {
    const number = (name) => Number(element.dataset[name]);
    const svg = element.ownerSVGElement;
    svg.setAttribute("data-maps", "");
    return {
      element, svg, key: element.dataset.map, rows: number("rows"), columns: number("columns"),
      x: number("x"), y: number("y"), width: number("width"), height: number("height"),
      sentence: data.sentence[element.dataset.map.replace(/^t\./, "")] ?? 0,
      title: svg.querySelector("title")?.textContent ?? element.dataset.map, marks: null,
    };
  });
  const bySvg = new Map();
  for (const map of maps) bySvg.set(map.svg, [...(bySvg.get(map.svg) ?? []), map]);
  const cellAt = (event) => {
    const svg = event.target.closest?.("svg[data-maps]");
    if (!svg || !bySvg.has(svg)) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    for (const map of bySvg.get(svg)) {
      const column = Math.floor((point.x - map.x) / map.width), query = Math.floor((point.y - map.y) / map.height);
      if (query >= 0 && query < map.rows && column >= 0 && column <= query) return { map, query, column };
    }
    return null;
  };

  let shown = null, pinned = false, asked = 0;
  const mark = (map, cell) => {
    if (!map.marks) {
      map.marks = draw("g", {}, map.svg);
      for (const kind of ["hl-band", "hl"]) draw("path", { class: kind }, map.marks);
    }
    const lit = cell && cell.map.rows === map.rows;
    map.marks.style.display = lit ? "" : "none";
    if (!lit) return;
    const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
    const { x, y, width, height } = map;
    const left = x + cell.column * width, top = y + cell.query * height;
    const row = box(x, top, (cell.query + 1) * width, height);
    const column = box(left, y + cell.column * height, width, (map.rows - cell.column) * height);
    map.marks.children[0].setAttribute("d", row + column);
    map.marks.children[1].setAttribute("d", box(left, top, width, height));
  };
  const show = async (cell) => {
    shown = cell;
    const turn = ++asked;
    for (const map of maps) mark(map, cell);
    for (const word of all(".word.from,.word.to")) word.classList.remove("from", "to");
    if (!cell) {
      readout.replaceChildren();
      return;
    }
    for (const line of all(".sentences li")) {
      const words = all(".word", line);
      if (words.length !== cell.map.rows) continue;
      words[cell.query]?.classList.add("from");
      words[cell.column]?.classList.add("to");
    }
    const picture = cell.map.element.tagName === "image";
    const share = picture
      ? await pixelShare(cell.map, cell.query, cell.column)
      : shareOf(cell.map.key, cell.query, cell.column);
    if (turn !== asked) return;
    const tokens = data.tokens[cell.map.sentence] ?? [];
    const signed = cell.map.key.startsWith("d.") && share > 0 ? "+" : "";
    const value = make("b", share === null ? "–" : signed + share.toFixed(2));
    value.dataset.value = share ?? "";
    readout.replaceChildren(
      make("div", cell.map.title), value,
      make("div", `from ${tokens[cell.query]} (${cell.query}) to ${tokens[cell.column]} (${cell.column})`),
      make("div", pinned ? "pinned; Escape lets go" : "", "note"),
    );
  };
  let waiting = false;
  document.addEventListener("pointermove", (event) => {
    if (pinned || waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (pinned) return;
      const cell = cellAt(event);
      if (cell || (shown && !event.target.closest?.("svg[data-maps]"))) show(cell);
    });
  });
  document.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) {
      pinned = !(pinned && shown && shown.map === cell.map && shown.query === cell.query && shown.column === cell.column);
      show(cell);
    } else if (pinned && event.target.closest?.("svg[data-maps]")) {
      pinned = false;
      show(null);
    }
  });
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  for (const [svg, [map]] of bySvg) {
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");
    svg.setAttribute("aria-roledescription", "attention map, arrow keys move through its cells");
    svg.setAttribute("aria-label", map.title);
    svg.addEventListener("keydown", (event) => {
      const here = shown?.map.svg === svg ? shown : null;
      if (moves[event.key]) {
        const [down, right] = here ? moves[event.key] : [0, 0];
        const start = here ?? { map, query: Number(map.element.dataset.query ?? map.rows - 1), column: 0 };
        const query = Math.min(start.map.rows - 1, Math.max(0, start.query + down));
        show({ map: start.map, query, column: Math.min(query, Math.max(0, start.column + right)) });
        event.preventDefault();
      } else if ((event.key === "Enter" || event.key === " ") && here) {
        pinned = !pinned;
        show(here);
        event.preventDefault();
      }
    });
    svg.addEventListener("blur", () => pinned || show(null));
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      pinned = false;
      show(null);
    }
  });

  // -- tables sort by their heads --------------------------------------------------------------------------------------
  for (const table of all("main table")) {
    const body = table.tBodies[0];
    all("th", table.tHead).forEach((head, index) => {
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const downwards = head.getAttribute("aria-sort") === "descending" ? 1 : head.classList.contains("number") && !head.hasAttribute("aria-sort") ? -1 : head.hasAttribute("aria-sort") ? -1 : 1;
        for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", downwards === 1 ? "ascending" : "descending");
        const keyOf = (row) => {
          const cell = row.cells[index];
          if (!cell.classList.contains("number")) return cell.textContent;
          return Number(cell.dataset.value ?? cell.textContent);
        };
        const order = (a, b) => {
          const [one, two] = [keyOf(a), keyOf(b)];
          const less = typeof one === "number" && typeof two === "number" ? one - two : String(one).localeCompare(String(two));
          return downwards * less;
        };
        body.append(...[...body.rows].sort(order));
      });
    });
  }

  // -- every figure can be saved: its panels as they lie, in one file --------------------------------------------------
  const standalone = (figure) => {
    const drawn = all(".panel > svg", figure).filter((svg) => svg.getBoundingClientRect().width);
    const boxes = drawn.map((svg) => svg.getBoundingClientRect());
    const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
    const [width, height] = [Math.max(...boxes.map((box) => box.right)) - left, Math.max(...boxes.map((box) => box.bottom)) - top];
    const outer = document.createElementNS(NS, "svg");
    const size = { xmlns: NS, class: "probe-figure", role: "img", width, height, viewBox: `0 0 ${width} ${height}` };
    for (const [name, value] of Object.entries(size)) outer.setAttribute(name, value);
    draw("title", {}, outer).textContent = figure.querySelector("h3").textContent;
    draw("style", {}, outer).textContent = document.getElementById("figure-style").textContent;
    drawn.forEach((svg, index) => {
      const copy = svg.cloneNode(true);
      for (const name of ["tabindex", "role", "aria-roledescription", "aria-label", "data-maps"]) copy.removeAttribute(name);
      for (const marks of all(".hl,.hl-band,.hl-step", copy)) marks.remove();
      const box = boxes[index];
      const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
      for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
      outer.append(copy);
    });
    return `${new XMLSerializer().serializeToString(outer)}\n`;
  };
  for (const button of all("[data-save]")) {
    button.parentElement.hidden = false;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([standalone(button.closest("figure"))], { type: "image/svg+xml" }));
      link.download = `${button.dataset.save}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // -- circuits: an edge shows its numbers and both ends' maps ---------------------------------------------------------
  for (const panels of all(".circuit .panels")) panels.scrollLeft = panels.scrollWidth; // the answer is at the right
  const mapsOf = (node) => maps.filter((map) => map.key === `s0.${node}` || map.key === `s1.${node}`);
  for (const edge of all("[data-edge]")) {
    const figure = edge.closest("figure"), details = figure.querySelector(".details");
    const facts = data.edges[figure.id]?.[edge.dataset.edge];
    if (!facts || !details) continue;
    edge.setAttribute("tabindex", "0");
    edge.setAttribute("role", "button");
    edge.setAttribute("aria-label", facts.title);
    const open = () => {
      for (const other of all(".chosen", figure)) other.classList.remove("chosen");
      edge.classList.add("chosen");
      details.hidden = false;
      const list = make("ul");
      list.append(...facts.says.map((said) => make("li", said)));
      const row = make("div", "", "panels");
      for (const node of facts.nodes) {
        for (const map of mapsOf(node)) {
          const panel = make("div", "", "panel"), copy = map.svg.cloneNode(true);
          for (const name of ["tabindex", "data-maps"]) copy.removeAttribute(name);
          copy.setAttribute("role", "img");
          panel.append(copy);
          row.append(panel);
        }
      }
      details.replaceChildren(make("h4", facts.title), list, row);
    };
    edge.addEventListener("click", open);
    edge.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        open();
      }
    });
  }

  // -- the slider moves the maps and the line in the strip -------------------------------------------------------------
  const redraw = (map) => {
    const paths = Array.from({ length: LEVELS + 1 }, () => "");
    for (let query = 0; query < map.rows; query++) {
      for (let column = 0; column <= query; column++) {
        const share = shareOf(map.key, query, column), level = Math.ceil(share * LEVELS);
        if (share >= 0.01) paths[level] += `M${column} ${query}h1`;
      }
    }
    map.element.replaceChildren();
    paths.forEach((d, level) => d && draw("path", { opacity: level / LEVELS, d }, map.element));
  };
  for (const slider of all(".slider")) {
    if (data.steps.length < 2) continue;
    slider.hidden = false;
    const input = slider.querySelector("input"), said = slider.querySelector("output");
    const live = maps.filter((map) => map.key.startsWith("t."));
    const strips = all("figure.strip svg").map((svg) => ({ svg, dots: all("circle[data-x]", svg) })).filter(({ dots }) => dots.length > 1);
    const move = () => {
      step = Number(input.value);
      said.textContent = `step ${data.steps[step]}${data.said[step] ? `: ${data.said[step]}` : ""}`;
      input.setAttribute("aria-valuetext", said.textContent);
      for (const map of live) redraw(map);
      for (const { svg, dots } of strips) {
        const places = dots.map((dot) => [Number(dot.dataset.x), dot.cx.baseVal.value]).sort((one, two) => one[0] - two[0]);
        const [[x0, left], [x1, right]] = [places[0], places.at(-1)];
        const heights = dots.map((dot) => dot.cy.baseVal.value);
        const at = left + ((right - left) * (data.steps[step] - x0)) / (x1 - x0 || 1);
        svg.querySelector(".hl-step")?.remove();
        draw("line", { class: "hl-step", x1: at, x2: at, y1: Math.min(...heights) - 8, y2: Math.max(...heights) + 4 }, svg);
      }
      if (shown?.map.key.startsWith("t.")) show(shown);
    };
    input.addEventListener("input", move);
    move();
  }
  document.documentElement.dataset.ready = "";
})();
