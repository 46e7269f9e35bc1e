// The charts, drawn with D3: speed-ups and changes as bars, the roofline, and the strip plot and the
// parallel coordinates of a race. Each is redrawn for its current width, so that text keeps its size.
"use strict";

const ROW_PX = 21;
const NARROW_PX = 600;

/// An empty SVG of the container's width.
function canvas(container, height, label) {
  const width = Math.max(200, Math.floor(container.clientWidth));
  container.replaceChildren();
  return {width, height, svg: d3.select(container).append("svg").attr("width", width)
    .attr("height", height)
    .attr("role", "group").attr("aria-label", label)};
}

/// Marks that answer to the keyboard: one of them is reached by the tab key.
function marks(selection, attribute, id, name) {
  return selection.attr(attribute, id).attr("class", "mark").attr("role", "button")
    .attr("tabindex", (_, i) => i === 0 ? "0" : "-1").attr("aria-label", name);
}

const shortened = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

// ---- Bars: how many times faster ----

const RATIO_TICKS = [0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16, 32];

/// Ticks of a scale of ratios, of which none is nearer than `gap` px to the next.
function ratioTicks(scale, gap) {
  const [low, high] = scale.domain(), kept = [1];
  const close = high / low < 1.3 ? [0.94, 0.96, 0.98, 1.02, 1.04, 1.06, 1.08, 1.15] : [];
  for (const tick of [...RATIO_TICKS, ...close]) {
    if (tick >= low && tick <= high &&
        kept.every(other => Math.abs(scale(other) - scale(tick)) >= gap)) kept.push(tick);
  }
  return kept.sort((a, b) => a - b);
}

/// spec: title, note, attribute, and of a row value, low, high, beside, kind, id and name.
function bars(container, rows, spec) {
  const left = 158, right = 52, top = 26;
  const {width, height, svg} = canvas(container, top + ROW_PX * rows.length + 24, spec.title);
  const known = rows.flatMap(row =>
      [spec.value(row), spec.low(row), spec.high(row), spec.beside(row)]).filter(value => value);
  const x = d3.scaleLog()
    .domain([Math.min(0.97, d3.min(known) * 0.99), Math.max(1.03, d3.max(known) * 1.01)])
    .range([left, width - right]);
  svg.append("text").attr("x", 0).attr("y", 14).attr("class", "heading").text(spec.title);
  svg.append("text").attr("x", width).attr("y", 14).attr("class", "quiet end").text(spec.note);
  const ticks = svg.append("g").selectAll("g").data(ratioTicks(x, 38)).join("g")
    .attr("transform", tick => `translate(${x(tick)},0)`);
  ticks.append("line").attr("class", tick => tick === 1 ? "base" : "grid").attr("y1", top)
    .attr("y2", height - 20);
  ticks.append("text").attr("class", "quiet middle").attr("y", height - 5).text(tick => `${tick}x`);
  const mark = marks(svg.append("g").selectAll("g").data(rows)
    .join("g"), spec.attribute, spec.id, spec.name)
    .attr("transform", (_, i) => `translate(0,${top + ROW_PX * i})`)
    .classed("chosen", row => spec.id(row) === state.row);
  mark.append("rect").attr("class", "ground").attr("width", width).attr("height", ROW_PX);
  mark.append("text").attr("class", "end").attr("x", left - 8).attr("y", 15)
    .text(row => shortened(row.shape, 19));
  mark.append("rect").attr("class", row => `bar ${spec.kind(row)}`)
    .attr("x", row => Math.min(x(1), x(spec.value(row))))
    .attr("width", row => Math.abs(x(spec.value(row)) - x(1))).attr("y", 5).attr("height", 11);
  mark.filter(row => spec.low(row)).append("line").attr("class", "interval")
    .attr("x1", row => x(spec.low(row)))
    .attr("x2", row => x(spec.high(row))).attr("y1", 10.5).attr("y2", 10.5);
  mark.filter(row => spec.beside(row)).append("path").attr("class", "beside")
    .attr("d", "M-4,0L0,-4L4,0L0,4Z")
    .attr("transform", row => `translate(${x(spec.beside(row))},16)`);
  mark.append("text").attr("class", row => spec.kind(row) === "behind" ? "end late" : "end")
    .attr("x", width - 2).attr("y", 15)
    .text(row => spec.value(row).toFixed(3));
}

function drawSpeedups() {
  const rows = answers().filter(row => row.ratio_cublas && isFinal(row));
  const groups = GROUPS.filter(group => rows.some(row => row.group === group));
  const box = byId("bars");
  box.replaceChildren();
  for (const group of groups) {
    const panel = box.appendChild(element("div", {class: "panel"}));
    const here = rows.filter(row => row.group === group);
    bars(panel, here, {
      title: shortened(group, 20),
      note: `geomean ${geomean(here.map(row => row.ratio_cublas)).toFixed(3)}x`,
      value: row => row.ratio_cublas, low: row => row.ratio_cublas_low,
      high: row => row.ratio_cublas_high,
      beside: row => row.ratio_cublaslt, kind: row => row.ratio_cublas < 1 ? "behind" : "",
      attribute: "data-row", id: row => row.id,
      name: row => `${row.shape}: ${row.ratio_cublas.toFixed(3)}x cuBLAS`});
  }
  const behind = rows.filter(row => row.ratio_cublas < 1).length;
  byId("speedups-title").textContent = rows.length ?
      `At least as fast as cuBLAS at ${rows.length - behind} of ${rows.length} shapes, ${WORDS[state.pdl]}, ${state.regime}` :
    `Nothing was measured ${WORDS[state.pdl]} in ${state.regime}`;
  byId("speedups")
    .querySelector(".see").textContent = "A bar is how many times faster than cublasGemmEx the best config of a shape is; " +
    "the black line is the 95 % interval, the diamond what it gains on the best algorithm of cuBLASLt. Orange: cuBLAS is ahead.";
}

function drawChanges() {
  const rows = DATA.comparison.rows.filter(row => row.change);
  const box = byId("changes");
  box.replaceChildren();
  rows.forEach((row, i) => { row.id = `${i}`; });
  for (const regime of ["sustained", "burst"]) {
    for (const group of [...new Set(rows.map(row => row.group))]) {
      const here = rows.filter(row => row.group === group && row.regime === regime);
      if (!here.length) continue;
      bars(box.appendChild(element("div", {class: "panel"})), here, {
        title: `${shortened(group, 16)}, ${regime}`,
        note: `geomean ${geomean(here.map(row => row.change)).toFixed(3)}x`,
        value: row => row.change, low: row => row.change_low, high: row => row.change_high,
        beside: () => null,
        kind: row => ({slower: "behind", faster: ""}[row.verdict] ?? "same"),
        attribute: "data-change", id: row => row.id,
        name: row => `${row.shape}: ${row.verdict}, ${row.change.toFixed(3)}x`});
    }
  }
}

function changeFacts(row) {
  return [
    [row.shape, row.regime], ["verdict", row.verdict],
    ["after / before",
        row.change.toFixed(3) + (interval(row.change_low, row.change_high) || " (no interval)")],
    ["time", `${significant(row.time_us_a)} to ${significant(row.time_us_b)} us`],
    ["in cycles of the clock",
        row.cycles_change ? `${row.cycles_change.toFixed(3)}x` : "not known"],
    ["before", row.label_a], ["after", row.same_winner ? "the same config" : row.label_b],
    ["tie", row.tied ? "each is a tie of the other" : "no"],
  ];
}

// ---- Roofline ----

function drawRoofline() {
  const rows = answers()
    .filter(row => row.tflops && isFinal(row)), {device, ceilings, read_tbps: read} = DATA;
  const narrow = byId("roof").clientWidth < NARROW_PX;
  const {width, height, svg} = canvas(byId("roof"), narrow ? 380 : 480, "Roofline");
  // Data of older versions has 16-bit operands only, and does not say so.
  const bitsOf = one => one.operand_bits || 16;
  const ceilingOf = bits =>
      ceilings.find(one => one.regime === state.regime && bitsOf(one) === bits);
  const kinds = [16, 8].filter(bits => rows.some(row => bitsOf(row) === bits));
  const ofBits = bits => kinds.includes(8) ? ` (${bits} bits)` : "";
  const tops = rows.map(row => row.tflops)
    .concat(rows.map(row => row.cublas_tflops).filter(Boolean));
  const x = d3.scaleLog()
    .domain([Math.min(0.5, d3.min(rows, row => row.intensity) || 0.5) * 0.8,
    Math.max(3000, d3.max(rows, row => row.intensity) || 0) * 1.2])
    .range([52, width - 12]);
  const y = d3.scaleLog().domain([Math.min(1, d3.min(tops) || 1) * 0.7, kinds.includes(8) ? 3200 : 1600])
    .range([height - 42, 12]);
  const plain = value => String(value);
  const ticks = scale =>
      [0.01, 0.1, 1, 10, 100, 1000].filter(v => v >= scale.domain()[0] && v <= scale.domain()[1]);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 42})`)
    .call(d3.axisBottom(x).tickValues(ticks(x)).tickFormat(plain));
  svg.append("g").attr("class", "axis").attr("transform", "translate(52,0)")
    .call(d3.axisLeft(y).tickValues(ticks(y)).tickFormat(plain));
  svg.append("text").attr("class", "quiet end").attr("x", width - 12).attr("y", height - 6)
    .text("FLOP per byte of A, B and D");
  svg.append("text").attr("class", "quiet").attr("x", 58).attr("y", 14).text("TFLOP/s");
  const clip = svg.append("clipPath").attr("id", "roof-clip").append("rect").attr("x", 52)
    .attr("y", 12).attr("width", width - 64).attr("height", height - 54);
  const inside = svg.append("g").attr("clip-path", "url(#roof-clip)");
  const roof = (tbps, tflops, kind) => {
    const [low, high] = x.domain(),
        points = [[low, tbps * low], [tflops / tbps, tflops], [high, tflops]];
    inside.append("path").attr("class", kind)
      .attr("d", "M" + points.map(([a, b]) => `${x(a)},${y(b)}`).join("L"));
  };
  const at = (tflops, above) => Math.max(14, y(tflops) + (above ? -6 : 16));
  for (const bits of kinds) {
    const peak = device && (bits === 8 ? device.peak_fp8_tflops : device.peak_tflops);
    if (peak) {
      roof(device.memory_tbps, peak, "roof datasheet");
      svg.append("text").attr("class", "quiet").attr("x", 122).attr("y", at(peak, true))
        .text(narrow ? `${peak.toFixed(0)} TFLOP/s${ofBits(bits)}: datasheet` :
            `${peak.toFixed(0)} TFLOP/s${ofBits(bits)}, ${device.memory_tbps} TB/s: datasheet`);
    }
    const ceiling = ceilingOf(bits);
    if (!read || !ceiling) continue;
    roof(read, ceiling.tflops, "roof");
    svg.append("text").attr("x", 122).attr("y", at(ceiling.tflops, false))
      .text(narrow ? `${ceiling.tflops.toFixed(0)} TFLOP/s${ofBits(bits)}, ${read} TB/s` :
          `${ceiling.tflops.toFixed(0)} TFLOP/s${ofBits(bits)} at ${ceiling.sm_mhz.toFixed(0)} MHz, ${read} TB/s read: measured`);
  }
  rows.sort((a, b) => a.intensity - b.intensity);
  const mark = marks(svg.append("g").selectAll("g").data(rows).join("g"), "data-row", row => row.id,
    row => `${row.shape}: ${row.tflops.toFixed(1)} TFLOP/s at ${row.intensity.toFixed(1)} FLOP per byte`)
    .attr("transform", row => `translate(${x(row.intensity)},0)`)
    .classed("chosen", row => row.id === state.row);
  const beside = mark.filter(row => row.cublas_tflops);
  beside.append("line").attr("class", "gain").attr("y1", row => y(row.cublas_tflops))
    .attr("y2", row => y(row.tflops));
  beside.append("circle").attr("class", "cublas").attr("r", 4)
    .attr("cy", row => y(row.cublas_tflops));
  mark.append("circle").attr("class", "ours").attr("r", 4.5).attr("cy", row => y(row.tflops));
  const legend = svg.append("g")
    .attr("transform", `translate(${narrow ? width - 190 : width - 210},${height - 62})`);
  legend.append("circle").attr("class", "ours").attr("r", 4.5).attr("cy", -4);
  legend.append("text").attr("x", 10).text("ours");
  legend.append("circle").attr("class", "cublas").attr("r", 4).attr("cx", 64).attr("cy", -4);
  legend.append("text").attr("x", 74).text("cuBLAS");
  const share = read ? rows.filter(row => ceilingOf(bitsOf(row)) &&
      row.intensity > ceilingOf(bitsOf(row)).tflops / read)
    .map(row => row.tflops / ceilingOf(bitsOf(row)).tflops) : [];
  byId("roofline-title").textContent = share.length ?
    `Right of the ridge half of the shapes reach ${(d3.median(share) * 100).toFixed(0)}\u00a0% of what the tensor cores can do, ${state.regime}` :
    `${rows.length} shapes under the roof, ${state.regime}`;
}

// ---- A race ----

let moving = false;  // a brush, by the program and not by the reader

function setBrush(changes) {
  const brush = {...state.brush, ...changes};
  for (const [axis, values] of Object.entries(brush)) if (!values ||
      !values.length) delete brush[axis];
  choose({brush});
}

const speedScale = (range, configs) => d3.scaleLinear()
  .domain([d3.min(configs, one => one.low || one.speed),
      d3.max(configs, one => one.high || one.speed)]).nice().range(range);

const classOf = config =>
    ["mark", `pdl-${config.of("pdl")}`, config.final ? "final" : "screened",
    isKept(config) ? "" : "off",
  config.label === (state.config || raceRow.label) ? "chosen" : ""].filter(Boolean).join(" ");

function drawStrip() {
  const configs = race.configs, axis = state.strip, values = valuesOf(axis, configs);
  byId("strip-title").textContent = `Speed by ${axisName(axis)}, a mark for each config; drag to keep a part`;
  const container = byId("strip"), room = (Math.floor(container.clientWidth) - 60) / values.length;
  const longest = d3.max(values, value => value.length) * 7.2;
  const turned = longest > room - 6, bottom = turned ? longest + 16 : 26;
  const {width, height, svg} = canvas(container, 300 + bottom,
      `Speed of ${configs.length} configs by ${axisName(axis)}`);
  const x = d3.scaleBand().domain(values).range([48, width - 8])
    .paddingInner(0.15), y = speedScale([height - bottom, 34], configs);
  svg.append("text").attr("class", "quiet").attr("x", 0).attr("y", 14).text(race.unit);
  const legend = svg.append("g").attr("class", "legend")
    .attr("transform", `translate(${width - 8},14)`);
  let right = 0;
  for (const kind of [...valuesOf("pdl", configs)].reverse()) {
    const text = legend.append("text").attr("class", "end").attr("x", right).text(`PDL ${kind}`);
    const wide = `PDL ${kind}`.length * 7.2 + 8;
    legend.append("circle").attr("class", `pdl-${kind} final`).attr("r", 4.5)
      .attr("cx", right - wide).attr("cy", -4);
    right -= wide + 16;
  }
  svg.append("g").attr("class", "axis").attr("transform", "translate(48,0)")
    .call(d3.axisLeft(y).ticks(6).tickSize(-(width - 56)));
  if (race.beside && y.domain()[0] < 1 && y.domain()[1] > 1) svg.append("line")
    .attr("class", "base").attr("x1", 48).attr("x2", width - 8).attr("y1", y(1)).attr("y2", y(1));
  const every = turned ? Math.ceil(14 / (width / values.length)) : 1;
  const names = svg.append("g").selectAll("text").data(values.filter((_, i) => i % every === 0))
    .join("text").attr("class", turned ? "end" : "middle").text(String);
  names.attr("transform",
      value => turned ?
      `translate(${x(value) + x.bandwidth() / 2 + 4},${height - bottom + 8}) rotate(-90)` :
    `translate(${x(value) + x.bandwidth() / 2},${height - bottom + 18})`);
  const area = d3.brush().extent([[48, 30], [width - 8, height - bottom]]).on("end", function () {
    const box = d3.brushSelection(this);
    if (!box || moving) return;
    const [[left, top], [end, low]] = box;
    setBrush({[axis]: values.filter(value => x(value) < end && x(value) + x.bandwidth() > left),
        speed: [y.invert(low).toFixed(4), y.invert(top).toFixed(4)]});
  });
  svg.append("g").attr("class", "brush").call(area);
  const spread = one => ((one.i * 0.618034) % 1 - 0.5) * Math.min(x.bandwidth() - 8, 60);
  const place = one => x(one.of(axis)) + x.bandwidth() / 2 + spread(one);
  const sorted = [...configs].sort((a, b) => place(a) - place(b));
  const mark = marks(svg.append("g").selectAll("g").data(sorted)
    .join("g"), "data-config", one => String(one.i),
    one => `${one.label}: ${one.speed.toFixed(3)} ${race.unit}`).attr("class", classOf)
    .attr("transform", one => `translate(${place(one)},0)`);
  mark.filter(one => one.low).append("line").attr("class", "interval").attr("y1", one => y(one.low))
    .attr("y2", one => y(one.high));
  mark.append("circle").attr("r", 4).attr("cy", one => y(one.speed));
}

function drawParallel() {
  const configs = race.configs, container = byId("parallel"),
      narrow = container.clientWidth < NARROW_PX;
  const axes = narrow ? MAIN_AXES.filter(axis => DATA.configs.axes[axis]) : axesOf(configs);
  const {width, height, svg} = canvas(container, narrow ? 520 : 420,
      "Parallel coordinates of all configs");
  const places = d3.scalePoint().domain([...axes, "speed"])
    .range([narrow ? 62 : 70, width - (narrow ? 26 : 60)]);
  const top = 40, scales = {speed: speedScale([height - 16, top], configs)};
  for (const axis of axes) scales[axis] = d3.scalePoint().domain(valuesOf(axis, configs))
    .range([height - 16, top]).padding(0.3);
  const at = (axis, one) => scales[axis](axis === "speed" ? one.speed : one.of(axis));
  // Lines with the same value would hide one another, so each is shifted a little.
  const apart = one => ((one.i * 0.618034) % 1 - 0.5) * 10;
  const path = one => "M" +
      [...axes,
      "speed"].map(axis => `${places(axis)},${at(axis, one) + (axis === "speed" ? 0 : apart(one))}`)
      .join("L");
  const slowest = [...configs].sort((a, b) => isKept(a) - isKept(b) || a.speed - b.speed);
  marks(svg.append("g").attr("class", "lines").selectAll("path").data(slowest)
    .join("path"), "data-config", one => String(one.i),
    one => `${one.label}: ${one.speed.toFixed(3)} ${race.unit}`).attr("class", classOf)
      .attr("d", path).attr("tabindex", (_, i, all) => i === all.length - 1 ? "0" : "-1");
  for (const axis of [...axes, "speed"]) {
    const group = svg.append("g").attr("class", "axis")
      .attr("transform", `translate(${places(axis)},0)`);
    const scale = scales[axis], values = axis === "speed" ? scale.ticks(6) : scale.domain();
    group.append("line").attr("class", "base").attr("y1", top).attr("y2", height - 16);
    const name = axis === "speed" ? race.unit : axisName(axis);
    const last = axis === "speed";
    const row = narrow && [...axes, "speed"].indexOf(axis) % 2 === 1 ? 28 : 13;
    group.append("text").attr("class", last ? "end strong" : "middle strong")
      .attr("x", last ? (narrow ? 20 : 30) : 0).attr("y", row).text(name);
    const room = Math.max(1, Math.ceil(14 * values.length / (height - top - 16)));
    group.selectAll(".value").data(values.filter((_, i) => i % room === 0)).join("text")
      .attr("class", "value end").attr("x", -8)
      .attr("y", value => scale(value) + 4)
      .text(value => last ? value.toFixed(2) : shortened(value, narrow ? 7 : 12));
    const half = axis === "speed" ? 0 : (scale.step() || 20) / 2;
    const brush = d3.brushY().extent([[-14, top - 4], [14, height - 12]]).on("end", function () {
      if (moving) return;
      const box = d3.brushSelection(this);
      if (!box) return setBrush({[axis]: null});
      setBrush({[axis]: axis === "speed" ?
          [scale.invert(box[1]).toFixed(4), scale.invert(box[0]).toFixed(4)] :
        scale.domain().filter(value => scale(value) >= box[0] && scale(value) <= box[1])});
    });
    const over = group.append("g").attr("class", "brush").call(brush);
    const kept = state.brush[axis];
    if (!kept) continue;
    const ends = axis === "speed" ? kept.map(Number)
      .map(scale) : kept.filter(value => scale.domain().includes(value)).map(scale);
    if (!ends.length) continue;
    moving = true;
    over.call(brush.move,
        [Math.max(top - 4, d3.min(ends) - half), Math.min(height - 12, d3.max(ends) + half)]);
    moving = false;
  }
}

// ---- All of them ----

function drawCharts() {
  hideTip();
  if (ROWS.length) {
    drawSpeedups();
    drawRoofline();
  }
  if (DATA.comparison) drawChanges();
  if (race) {
    drawStrip();
    drawParallel();
  }
}

function startCharts() {
  if (ROWS.length) {
    for (const id of ["bars", "roof"]) interactive(byId(id), "data-row", at => rowFacts(rowAt(at)),
        openRow);
    for (const id of ["strip", "parallel"]) interactive(byId(id), "data-config",
        at => configFacts(configAt(at), race), chooseConfig);
  }
  if (DATA.comparison) {
    interactive(byId("changes"), "data-change",
        at => changeFacts(DATA.comparison.rows.find(row =>
        row.id === at.getAttribute("data-change"))), () => {});
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) drawCharts();  // a phone's height changes with its bars
    width = innerWidth;
  });
}
