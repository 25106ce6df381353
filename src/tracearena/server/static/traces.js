// A team's traces before and after. The original comes from the server, which opens it by the team's own key; the
// obfuscated file is read here, from the member's disk, and sent nowhere: the server could not open an upload.
"use strict";
{
  const BLUE = "#0072B2", SKY = "#56B4E9", VERMILION = "#D55E00", WIDTH = 720, TALLEST = 520, DELETED = -1, FIRST_SET = -2, BIN_KM = 0.5;
  const box = document.getElementById("viewer"), words = box.dataset;
  const part = name => document.getElementById(`viewer-${name}`);
  const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
  let original = null, released = null;

  function draw(name, attributes, parent, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }
  function hatching(svg, id) {
    const pattern = draw("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("defs", {}, svg));
    draw("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" }, pattern);
    return `url(#${id})`;
  }

  // --- reading -------------------------------------------------------------------------------------------------

  async function text(file) {
    const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
    if (String.fromCharCode(...start) === "PAR1") throw new Error(words.parquet);
    const packed = start[0] === 0x1f && start[1] === 0x8b;
    const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    return new Response(stream).text();
  }

  // One code an event, as the library has it: a place, -1 if it was deleted, -2 - s for set s.
  function parsed(content, places, rows) {
    const lines = content.replace(/^\ufeff/, "").split("\n").map(line => line.replace(/\r$/, ""));
    if (lines.at(-1) === "") lines.pop();
    if (lines.shift() !== "reg_id") throw new Error(words.header);
    if (lines.length !== rows) throw new Error(fill(words.rows, { got: lines.length, wanted: rows }));
    const index = new Map(places.map((id, place) => [String(id), place]));
    const sets = [], known = new Map();
    const codes = Int32Array.from(lines, (cell, row) => {
      if (cell === "*") return DELETED;
      const single = index.get(cell);
      if (single !== undefined) return single;
      if (!known.has(cell)) {
        const members = cell.split(" ").map(id => index.get(id));
        if (members.length < 2 || members.includes(undefined)) throw new Error(fill(words.cell, { row: row + 1, cell: JSON.stringify(cell.slice(0, 40)) }));
        known.set(cell, sets.push(members) - 1);
      }
      return FIRST_SET - known.get(cell);
    });
    return { codes, sets };
  }
  const cell = code => code === DELETED ? [] : code <= FIRST_SET ? released.sets[FIRST_SET - code] : [code];

  async function identity(file) {
    // Browsers have the hash on HTTPS and on this machine only.
    if (!words.counts || !globalThis.crypto?.subtle) return "";
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    const hex = Array.from(digest, byte => byte.toString(16).padStart(2, "0")).join("");
    return hex === words.counts ? words.same : words.other;
  }

  // --- the map -------------------------------------------------------------------------------------------------

  // The part of the map where a day takes place, before and after, with a rim of some cells.
  function around(places) {
    const map = original.map, [rim_x, rim_y] = map.grid ? [3 * map.width_km / map.grid.columns, 3 * map.height_km / map.grid.rows] : [1, 1];
    const span = (all, rim) => places.reduce(([low, high], place) => [Math.min(low, all[place] - rim), Math.max(high, all[place] + rim)], [Infinity, -Infinity]);
    return { x: span(map.x_km, rim_x), y: span(map.y_km, rim_y) };
  }

  function ground({ x: [west, east], y: [south, north] }) {
    const map = original.map, scale = Math.min(WIDTH / (east - west), TALLEST / (north - south)), height = (north - south) * scale;
    const left = (WIDTH - (east - west) * scale) / 2;
    const at = place => [left + (map.x_km[place] - west) * scale, height - (map.y_km[place] - south) * scale];
    const [wide, high] = map.grid ? [map.width_km * scale / map.grid.columns, map.height_km * scale / map.grid.rows] : [6, 6];
    const tile = place => {
      const [x, y] = at(place);
      return `M${x - wide / 2} ${y - high / 2}h${wide}v${high}h${-wide}z`;
    };
    const edge = [left - west * scale, height + south * scale];
    return { at, tile, wide, high, height, scale, edge };
  }

  function drawGround(svg, { wide, high, scale, tile, edge: [left, bottom] }) {
    const map = original.map, width = map.width_km * scale, height = map.height_km * scale;
    draw("rect", { x: left, y: bottom - height, width, height, class: "panel" }, svg);
    if (map.grid) {
      let lines = "";
      for (let column = 0; column <= map.grid.columns; column++) lines += `M${left + column * wide} ${bottom}v${-height}`;
      for (let row = 0; row <= map.grid.rows; row++) lines += `M${left} ${bottom - row * high}h${width}`;
      draw("path", { d: lines, class: "grid" }, svg);
    }
    draw("path", { d: map.sensitive.map(tile).join(""), fill: "none", stroke: VERMILION, "stroke-width": 1.5 }, svg);
  }

  function drawScale(svg, { height, scale }) {
    const km = [20, 10, 5, 2, 1, .5, .2, .1].find(length => length * scale <= WIDTH / 4) ?? .1;
    draw("line", { x1: 4, x2: 4 + km * scale, y1: height + 16, y2: height + 16, class: "line scale" }, svg);
    draw("text", { x: 14 + km * scale, y: height + 21 }, svg, km >= 1 ? `${km} km` : `${1000 * km} m`);
  }

  function showMoment() {
    const count = original.instants.length, person = Number(part("person").value), time = Number(part("time").value);
    const perDay = original.clock.per_day, event = person * count + time;
    const day = Math.floor(original.instants[time] / perDay), firstDay = Math.floor(original.instants[0] / perDay);
    const today = original.instants.flatMap((instant, i) => Math.floor(instant / perDay) === day ? [person * count + i] : []);
    const before = original.places[event], after = cell(released.codes[event]);
    const earth = ground(around(today.flatMap(one => [original.places[one], ...cell(released.codes[one])])));
    const whole = draw("svg", { viewBox: `0 0 ${WIDTH} ${earth.height + 30}`, role: "img", "aria-labelledby": "viewer-at" });
    drawScale(whole, earth);
    // Cut off at its border, as an inner picture is.
    const svg = draw("svg", { width: WIDTH, height: earth.height }, whole);
    drawGround(svg, earth);
    const way = today.map(one => earth.at(original.places[one]).join(" ")).join("L");
    draw("path", { d: `M${way}`, class: "line way" }, svg);
    if (!after.length) draw("path", { d: earth.tile(before), fill: hatching(svg, "viewer-hatching"), class: "deleted", stroke: VERMILION, "stroke-width": 2 }, svg);
    if (after.length > 1) draw("path", { d: after.map(earth.tile).join(""), fill: BLUE, "fill-opacity": .45, class: "set-area" }, svg);
    const [x, y] = earth.at(before);
    if (after.length === 1) {
      const [u, v] = earth.at(after[0]);
      draw("path", { d: `M${x} ${y}L${u} ${v}`, fill: "none", stroke: BLUE, "stroke-width": 2, "stroke-dasharray": "4 4" }, svg);
      draw("rect", { x: u - 7, y: v - 7, width: 14, height: 14, fill: BLUE, class: "mark" }, svg);
    }
    draw("circle", { cx: x, cy: y, r: 9, fill: "none", stroke: VERMILION, "stroke-width": 3 }, svg);
    part("map").replaceChildren(whole);
    const name = place => original.map.ids[place];
    part("at").value = fill(words.at, {
      person: original.people[person], day: day - firstDay + 1, time: original.clock.labels[original.instants[time] % perDay],
      before: name(before), after: after.length ? after.map(name).join(" ") : words.deleted,
    });
    part("time").setAttribute("aria-valuetext", part("at").value);
  }

  // --- the histogram -------------------------------------------------------------------------------------------

  function distances(limit) {
    const { x_km: x, y_km: y } = original.map, bars = Math.round((limit + 1) / BIN_KM) + 2;
    const single = new Float64Array(bars), sets = new Float64Array(bars), share = 1 / released.codes.length;
    let deleted = 0, useless = 0;
    released.codes.forEach((code, event) => {
      if (code === DELETED) { deleted += share; return; }
      const true_ = original.places[event], shown = cell(code);
      const far = shown.reduce((sum, place) => sum + Math.hypot(x[place] - x[true_], y[place] - y[true_]), 0) / shown.length;
      const bar = far < 1e-6 ? 0 : Math.min(1 + Math.floor(far / BIN_KM), bars - 1);
      (shown.length > 1 ? sets : single)[bar] += share;
      if (far >= limit) useless += share;
    });
    return { single, sets, deleted, useless };
  }

  function showHistogram() {
    const limit = Number(words.limitKm), told = part("numbers").dataset, { single, sets, deleted, useless } = distances(limit);
    const bars = single.length, step = (WIDTH - 70) / (bars + 1.6), bottom = 270, top = 62;
    const tallest = Math.max(deleted, .05, ...single.map((share, bar) => share + sets[bar]));
    const high = share => share / tallest * (bottom - top), percent = share => `${(100 * share).toFixed(1)} %`;
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} 320`, role: "img", "aria-labelledby": "viewer-caption" });
    for (const [paint, said, at] of [[BLUE, told.single, 0], [SKY, told.set, 130]]) {
      draw("rect", { x: 62 + at, y: 2, width: 14, height: 14, fill: paint }, svg);
      draw("text", { x: 82 + at, y: 15, class: "soft" }, svg, said);
    }
    const bar = (at, base, share, paint, hint) => {
      if (share > 0) draw("title", {}, draw("rect", { x: 62 + at * step, y: bottom - high(base + share), width: step - 5, height: high(share), fill: paint }, svg), `${hint}: ${percent(share)}`);
    };
    for (const part_ of [.25, .5, .75, 1]) {
      draw("line", { x1: 58, x2: WIDTH - 8, y1: bottom - high(part_ * tallest), y2: bottom - high(part_ * tallest), class: "grid" }, svg);
      draw("text", { x: 54, y: bottom - high(part_ * tallest) + 5, "text-anchor": "end", class: "soft number" }, svg, `${Math.round(100 * part_ * tallest)} %`);
    }
    const label = at => at === 0 ? told.same : at === bars - 1 ? fill(told.over, { limit: limit + 1 }) : `${(at - 1) * BIN_KM}–${at * BIN_KM} km`;
    const rows = Array.from(single, (share, at) => [label(at), percent(share), percent(sets[at])]);
    single.forEach((share, at) => { bar(at, 0, share, BLUE, label(at)); bar(at, share, sets[at], SKY, label(at)); });
    bar(bars + .6, 0, deleted, hatching(svg, "viewer-bars"), told.deleted);
    draw("line", { x1: 58, x2: WIDTH - 8, y1: bottom, y2: bottom, class: "line" }, svg);
    const foot = (at, said) => draw("text", { x: 62 + at * step, y: bottom + 20, "text-anchor": "middle", class: "soft number" }, svg, said);
    foot(.45, "0");
    for (let at = 3; at < bars - 1; at += 2) foot(at - .08, (at - 1) * BIN_KM);
    foot(bars - .5, `> ${limit + 1}`);
    foot(bars + 1.05, told.deleted);
    draw("text", { x: WIDTH / 2, y: bottom + 46, "text-anchor": "middle" }, svg, told.axis);
    const x = 62 + (1 + limit / BIN_KM) * step - 2.5;
    draw("line", { x1: x, x2: x, y1: top - 12, y2: bottom, stroke: VERMILION, "stroke-width": 2, "stroke-dasharray": "4 4" }, svg);
    draw("text", { x, y: top - 18, "text-anchor": "middle", class: "halo" }, svg, fill(told.limit, { limit }));
    part("histogram").replaceChildren(svg);
    part("caption").textContent = fill(part("caption").dataset.words, { same: percent(single[0] + sets[0]), far: percent(useless), limit, deleted: percent(deleted) });
    part("numbers").replaceChildren(...[...rows, [told.deleted, percent(deleted), ""]].map(row => {
      const line = document.createElement("tr");
      line.append(...row.map(value => Object.assign(document.createElement("td"), { textContent: value })));
      return line;
    }));
  }

  // --- together ------------------------------------------------------------------------------------------------

  async function open(file) {
    part("said").classList.remove("refused");
    part("said").textContent = words.reading;
    try {
      if (!original) {
        const answer = await fetch(words.events);
        if (!answer.ok || answer.redirected) throw new TypeError(answer.status);
        original = await answer.json();
        part("person").replaceChildren(...original.people.map((id, person) => new Option(id, person)));
        part("time").max = original.instants.length - 1;
      }
      released = parsed(await text(file), original.map.ids, original.places.length);
      part("said").textContent = `${file.name} · ${await identity(file)}`;
      part("shown").hidden = false;
      showMoment();
      showHistogram();
    } catch (error) {
      part("shown").hidden = true;
      part("said").classList.add("refused");
      part("said").textContent = error.constructor === Error ? error.message : words.failed;
    }
  }

  box.hidden = false;
  part("file").addEventListener("change", () => { if (part("file").files.length) open(part("file").files[0]); });
  for (const name of ["person", "time"]) part(name).addEventListener("input", showMoment);
}
