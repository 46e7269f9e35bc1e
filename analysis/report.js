// The page of a report: its data, the selection (kept in location.hash), the first box and the
// tables. report_charts.js draws the charts if D3 is available. All text is inserted as text, never
// as HTML, because anyone may have written the database.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const LEVELS = ["off", "safe", "weights"];
const FIRST_ROWS = 25;

// ---- Elements ----

const byId = id => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name,
        value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

/// A label that may be broken after each field.
function breakable(label, tag = "code") {
  const code = element(tag);
  label.split(".").forEach((field, i, all) => {
    code.append(field + (i + 1 < all.length ? "." : ""), element("wbr"));
  });
  return code;
}

function say(text) {
  byId("said").textContent = text;
}

// ---- Numbers ----

const fixed = (value, digits) => value === null || value === undefined ? "–" :
    value.toFixed(digits);
const significant = value => value === null ? "–" : value >= 1000 ? value.toFixed(0) :
  value >= 100 ? value.toFixed(1) : value.toFixed(2);
const interval = (low, high) => low === null || low === undefined ? "" :
    ` [${low.toFixed(3)}, ${high.toFixed(3)}]`;
const geomean = values => Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);

// ---- Rows ----

const isFinal = row => row.stage === "final";
const ROWS = DATA.rows;
const ROW_OF = new Map();
for (const row of ROWS) {
  row.id = `${row.shape}:${row.regime}:${row.pdl}`;
  while (ROW_OF.has(row.id)) row.id += "+";
  ROW_OF.set(row.id, row);
}
const GROUPS = [...new Set(ROWS.map(row => row.group))];

/// The rows that count: the best of each shape in the selected regime, with the allowed PDL.
function answers(level = state.pdl) {
  return ROWS.filter(row => row.regime === state.regime && row.levels.includes(level));
}

function rowFacts(row) {
  return [
    [row.shape, row.tag.slice(0, 60)],
    ["regime, PDL kind", `${row.regime}, ${row.pdl}`],
    ["config", row.label],
    ["x cuBLAS",
        fixed(row.ratio_cublas, 3) +
        (interval(row.ratio_cublas_low, row.ratio_cublas_high) ||
        ` (no interval: ${whyNoInterval(row)})`)],
    ["x cuBLASLt",
        fixed(row.ratio_cublaslt, 3) + interval(row.ratio_cublaslt_low, row.ratio_cublaslt_high)],
    ["time", `${significant(row.time_us)} us, ${fixed(row.tflops, 1)} TFLOP/s`],
    ["SM clock", row.sm_mhz === null ? "not read" : `${fixed(row.sm_mhz, 0)} MHz`],
    ["ties",
        row.ties.length ?
        `${row.ties.length}: ${row.ties.slice(0, 3).join(", ")}${row.ties.length > 3 ? ", ..." : ""}` : "none"],
    ["measured", `${row.date}, kernels ${row.kernel}`],
  ];
}

function whyNoInterval(row) {
  return isFinal(row) ? "few rounds" : "only screened";
}

// ---- The selection ----

const DEFAULTS = {regime: "sustained", pdl: "weights", q: "", group: "", only: "", kind: "",
                  sort: "-ratio_cublas", row: "", config: "", strip: "tile", at: "",
                  changes: "change",
                  configs: "-speed"};
const state = {...DEFAULTS, brush: {}};

function readHash() {
  const text = location.hash.slice(1);
  if (text && !text.includes("=")) return;  // a place on the page
  const given = new URLSearchParams(text);
  Object.assign(state, DEFAULTS, {brush: {}});
  for (const [name, value] of given) {
    const axis = name.startsWith("brush.") ? name.slice(6) : null;
    if (axis === "speed" ? value.split(",").length === 2 && value.split(",")
      .every(bound => Number(bound) > 0) :
      axis !== null &&
          Object.hasOwn(DATA.configs.axes || {}, axis)) state.brush[axis] = value.split(",");
    else if (Object.hasOwn(DEFAULTS, name)) state[name] = value;
  }
  if (!["sustained", "burst"].includes(state.regime)) state.regime = DEFAULTS.regime;
  if (!LEVELS.includes(state.pdl)) state.pdl = DEFAULTS.pdl;
  if (!ROW_OF.has(state.row)) state.row = "";
}

/// `step`: one that the Back button undoes.
function writeHash(step = false) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) {
    if (state[name] !== value) kept.set(name, state[name]);
  }
  for (const [axis, values] of Object.entries(state.brush)) kept.set(`brush.${axis}`,
      values.join(","));
  const hash = "#" + kept.toString();
  if (hash === location.hash) return;
  history[step ? "pushState" : "replaceState"](null, "",
      hash === "#" ? location.pathname + location.search : hash);
}

function choose(changes, step = false) {
  Object.assign(state, changes);
  writeHash(step);
  render();
}

// ---- Tooltips, and what is looked at ----

let tipAt = null;  // the element that the tooltip is about

/// Lines of [name, value]; the first is a heading.
function showTip(lines, at) {
  const tip = byId("tip");
  tipAt = at;
  tip.replaceChildren(...lines.map(([name, value], i) => i === 0 ?
    element("p", {}, element("b", {}, name), value ? ` ${value}` : "") :
    element("p", {}, element("span", {}, name), ` ${value}`)));
  tip.hidden = false;
  placeTip();
}

function placeTip() {
  if (!tipAt) return;
  if (!tipAt.isConnected) return hideTip();
  const tip = byId("tip"), box = tipAt.getBoundingClientRect();
  const {width, height} = tip.getBoundingClientRect();
  const left = Math.max(8,
      Math.min(box.right + 10, document.documentElement.clientWidth - width - 8));
  const below = box.bottom + 10 + height < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 10 : Math.max(8, box.top - height - 10)}px`;
}

function hideTip() {
  tipAt = null;
  byId("tip").hidden = true;
}

/// Marks of one row, or of one config, wherever they are.
function light(attribute, value) {
  for (const one of document.querySelectorAll(".hot")) one.classList.remove("hot");
  if (value === null) return;
  for (const one of document.querySelectorAll(`[${attribute}="${CSS.escape(value)}"]`)) one.classList.add("hot");
}

/// Marks answer to the pointer and to the keyboard: the tab key enters, arrows go on, Enter opens.
/// `facts` and `open` take a mark's element.
function interactive(container, attribute, facts, open) {
  const mark = event => event.target.closest && event.target.closest(`[${attribute}]`);
  const look = event => {
    const at = mark(event);
    if (!at) return;
    light(attribute, at.getAttribute(attribute));
    showTip(facts(at), at);
  };
  const leave = () => { hideTip(); light(attribute, null); };
  container.addEventListener("pointerover", look);
  container.addEventListener("focusin", look);
  container.addEventListener("pointerout", leave);
  container.addEventListener("focusout", leave);
  container.addEventListener("click", event => {
    if (mark(event) && !event.target.closest("button")) open(mark(event));
  });
  container.addEventListener("keydown", event => {
    const at = mark(event);
    if (!at || event.target !== at) return;
    if (event.key === "Escape") return hideTip();
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return open(at);
    }
    const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
    const all = [...container.querySelectorAll(`[${attribute}][tabindex]`)];
    const next = step ? all[all.indexOf(at) + step] : event.key === "Home" ? all[0] :
      event.key === "End" ? all[all.length - 1] : null;
    if (!next) return;
    event.preventDefault();
    at.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

const rowAt = at => ROW_OF.get(at.getAttribute("data-row"));
function openRow(at) {
  const row = rowAt(at);
  if (!row) return;
  choose({row: row.id, config: "", brush: {}}, true);
  byId("race").scrollIntoView();
  byId("race").querySelector("h2").focus({preventScroll: true});
}

// ---- Tables ----

/// columns: name, key (of state's sorting), value (to sort by), cell (a node or text).
function fillTable(table, columns, rows, sorting, first, attributes) {
  const [key, down] = state[sorting].startsWith("-") ? [state[sorting].slice(1), true] :
      [state[sorting], false];
  const column = columns.find(one => one.key === key);
  const sorted = column ? [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === y) return 0;
    if (x === null || y === null) return x === null ? 1 : -1;  // unknown values come last
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  }) : rows;
  const head = columns.map(one => {
    const now = one.key === key ? (down ? "descending" : "ascending") : "none";
    const next = one.key === key ? (down ? one.key : `-${one.key}`) :
        (one.number ? `-${one.key}` : one.key);
    const again = () => {
      choose({[sorting]: next});
      table.querySelector(`[data-sort="${one.key}"]`).focus();
    };
    return element("th", {"aria-sort": now, scope: "col", class: one.number ? "number" : null},
      one.key ?
          element("button", {type: "button", "data-sort": one.key, onclick: again}, one.name) :
          one.name);
  });
  table.tHead.replaceChildren(element("tr", {}, ...head));
  table.tBodies[0].replaceChildren(...sorted.slice(0, first)
    .map((row, i) => element("tr", attributes(row, i),
    ...columns.map(one =>
        element("td",
        {"data-name": one.name, class: [one.number ? "number" : "", one.class || ""].join(" ")
        .trim() || null},
      one.cell(row))))));
  return sorted;
}

/// Few samples at another clock; not comparable with the others.
const screened = (row, text) => isFinal(row) ? text : element("small", {}, text);
const ratioCell = row =>
    element("span", {}, element("b", {class: row.ratio_cublas < 1 ? "behind" : null},
  fixed(row.ratio_cublas, 3)),
      element("small", {}, interval(row.ratio_cublas_low, row.ratio_cublas_high) ||
    (row.ratio_cublas === null ? "" : ` ${whyNoInterval(row)}`)));
const COLUMNS = [
  {name: "shape", key: "shape", value: row => row.m * row.n * row.k,
      cell: row => breakable(row.shape, "span"), class: "shape"},
  {name: "class", key: "group", value: row => row.group, cell: row => row.group, class: "group"},
  {name: "regime", key: "regime", value: row => row.regime, cell: row => row.regime},
  {name: "PDL", key: "pdl", value: row => LEVELS.indexOf(row.pdl), cell: row => row.pdl},
  {name: "config", key: "label", value: row => row.label, cell: row => breakable(row.label),
      class: "label"},
  {name: "us", key: "time_us", value: row => row.time_us,
      cell: row => screened(row, significant(row.time_us)), number: true},
  {name: "TFLOP/s", key: "tflops", value: row => row.tflops,
      cell: row => screened(row, fixed(row.tflops, 1)), number: true},
  {name: "x cuBLAS", key: "ratio_cublas", value: row => row.ratio_cublas, cell: ratioCell,
      number: true, class: "ratio"},
  {name: "x cuBLASLt", key: "ratio_cublaslt", value: row => row.ratio_cublaslt,
      cell: row => fixed(row.ratio_cublaslt, 3), number: true},
  {name: "SM MHz", key: "sm_mhz", value: row => row.sm_mhz, cell: row => fixed(row.sm_mhz, 0),
      number: true},
  {name: "ties", key: "ties", value: row => row.ties.length, cell: row => String(row.ties.length),
      number: true},
];

let rowsShown = FIRST_ROWS;
function renderTable() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ROWS.filter(row => {
    const text = `${row.shape} ${row.tag} ${row.regime} ${row.pdl} ${row.label}`.toLowerCase();
    return (!state.group || row.group === state.group) &&
        (!state.only || row.regime === state.only) &&
      (!state.kind || row.pdl === state.kind) && words.every(word => text.includes(word));
  });
  fillTable(byId("table"), COLUMNS, matches, "sort", rowsShown, (row, i) => ({
    "data-row": row.id, tabindex: i === 0 ? "0" : "-1",
        class: row.id === state.row ? "chosen" : null,
    "aria-label": `${row.shape} ${row.regime} ${row.pdl}: open its race`}));
  byId("filters").querySelector(".count").textContent = `${matches.length} of ${ROWS.length} rows`;
  const more = byId("more");
  more.hidden = matches.length <= rowsShown;
  more.textContent = `Show all ${matches.length} rows`;
}

// ---- The first box ----

/// What counts of a class, as far as it was measured to the end beside cuBLAS.
function meansOf(rows, group) {
  const known = rows.filter(row => row.group === group && isFinal(row) && row.ratio_cublas);
  const ratios = known.map(row => row.ratio_cublas), lt = known.map(row => row.ratio_cublaslt)
    .filter(Boolean);
  return known.length === 0 ? null : {
    shapes: known.length, cublas: geomean(ratios), cublaslt: lt.length ? geomean(lt) : null,
    least: Math.min(...ratios), most: Math.max(...ratios),
    behind: ratios.filter(ratio => ratio < 1).length};
}

const WORDS = {off: "without PDL", safe: "with PDL up to safe", weights: "with any PDL"};
const MANY = {square: "squares", odd: "odd sizes"};

function renderGain() {
  for (const input of document.querySelectorAll("#gain input")) input.checked = state[input.name] === input.value;
  const rows = answers();
  const classes = GROUPS.map(group => [group, meansOf(rows, group)]).filter(([, mean]) => mean);
  const said = classes.filter(([, mean]) => mean.shapes > 1 || classes.length === 1).slice(0, 5)
    .map(([group, mean]) => `${mean.cublas.toFixed(2)}x for \u2068${MANY[group] || group}\u2069`);
  byId("gain-answer").textContent = said.length ?
      `Over cuBLAS, ${WORDS[state.pdl]}, ${state.regime}: ${said.join(", ")}` :
    `Nothing was measured ${WORDS[state.pdl]}, ${state.regime}`;
  const table = byId("gain-table");
  table.caption.textContent = "Geometric means over the shapes of a class: how many times faster than cublasGemmEx the best kernels are, by the PDL that is allowed; then, with what is chosen above, than the best algorithm of cuBLASLt, the least and the most, and at how many shapes cuBLAS is ahead";
  const head = ["class", "shapes", "no PDL", "safe", "weights", "x cuBLASLt", "least to most",
      "cuBLAS ahead"];
  const chosen = 2 + LEVELS.indexOf(state.pdl);
  table.tHead.replaceChildren(element("tr", {},
    ...head.map((name, i) => element("th", {scope: "col", class: i ? "number" : null}, name))));
  table.tBodies[0].replaceChildren(...classes.map(([group, mean]) => {
    const byLevel = LEVELS.map(level => meansOf(answers(level), group));
    const cells = [String(mean.shapes),
      ...byLevel.map(one => one === null ? "–" : one.cublas.toFixed(3) +
      (one.shapes === mean.shapes ? "" : ` (${one.shapes})`)),
      fixed(mean.cublaslt, 3), `${mean.least.toFixed(2)} – ${mean.most.toFixed(2)}`,
          String(mean.behind)];
    return element("tr", {}, element("th", {scope: "row"}, group), ...cells.map((text, i) =>
      element("td",
          {class: `number ${i + 1 === chosen ? "ours chosen" : ""}`, "data-name": head[i + 1]},
          text)));
  }));
  byId("gain-note").textContent = gainNotes(rows).join(" ");
}

/// The ratio to the faster one of cublasGemmEx and cuBLASLt's best; NaN if neither is known.
function overBestLibrary(cublas, cublaslt) {
  const known = [cublas, cublaslt].filter(Boolean);
  return known.length ? Math.min(...known) : NaN;
}

/// A lead by PDL: without PDL the best library is ahead.
const isLeadByPdl = row => row.pdl !== "off" &&
    overBestLibrary(row.ratio_cublas, row.ratio_cublaslt) > 1 &&
    overBestLibrary(row.pdl_off_ratio_cublas, row.pdl_off_ratio_cublaslt) < 1;

function gainNotes(rows) {
  const notes = ["PDL (programmatic dependent launch) lets a kernel start before the one ahead of it ends; cuBLAS's API has none, so no PDL is the like-for-like column. " +
    "Safe kernels read nothing early; weights kernels read B early, which no kernel before them may write."];
  const byPdl = rows.filter(isLeadByPdl).length;
  if (byPdl) notes.push(`At ${byPdl} of ${rows.length} shapes the lead is by PDL: without it the best library is ahead.`);
  const left = rows.filter(row => !isFinal(row) || !row.ratio_cublas).length;
  if (left) notes.push(`${left} of ${rows.length} shapes were not measured to the end beside cuBLAS ${WORDS[state.pdl]}, and are left out.`);
  if (byId("gain-table").tBodies[0].textContent.includes("(")) {
    notes.push("(n): a mean over another number of shapes, as others were only screened with that PDL; do not compare it along its line.");
  }
  const newest = rows.map(row => row.date).sort().pop();
  const older = GROUPS.map(group =>
      [group, rows.filter(row => row.group === group).map(row => row.date).sort().pop()])
    .filter(([, date]) => date && date < newest).map(([group, date]) => `${group} (${date})`);
  if (older.length) notes.push(`Recorded before ${newest}: ${older.join(", ")}.`);
  return notes;
}

// ---- Before and after ----

const CHANGES = [
  {name: "shape", key: "shape", value: row => row.m * row.n * row.k, cell: row => row.shape,
      class: "shape"},
  {name: "regime", key: "regime", value: row => row.regime, cell: row => row.regime},
  {name: "verdict", key: "verdict", value: row => row.verdict,
      cell: row => element("b", {class: row.verdict === "slower" ? "behind" : null}, row.verdict)},
  {name: "change", key: "change", value: row => row.change,
      cell: row => element("span", {}, element("b", {}, fixed(row.change, 3)),
    element("small", {}, interval(row.change_low, row.change_high))), number: true, class: "ratio"},
  {name: "us before", key: "time_us_a", value: row => row.time_us_a,
      cell: row => significant(row.time_us_a), number: true},
  {name: "us after", key: "time_us_b", value: row => row.time_us_b,
      cell: row => significant(row.time_us_b), number: true},
  {name: "config before", key: "label_a", value: row => row.label_a,
      cell: row => row.label_a ? breakable(row.label_a) : "–", class: "label"},
  {name: "config after", key: "label_b", value: row => row.label_b,
      cell: row => row.same_winner ? "the same" : row.label_b ? breakable(row.label_b) : "–",
      class: "label"},
];

function renderComparison() {
  const {rows, lost, only_in_a, only_in_b, environment_changes, names} = DATA.comparison;
  const count = verdict => rows.filter(row => row.verdict === verdict).length;
  const section = byId("compared");
  section.querySelector("h2").textContent =
    `${count("faster")} faster, ${count("same")} the same, ${count("slower") + lost.length} slower since ${names[0]}` +
    (count("unknown") ? `, ${count("unknown")} that cannot be told` : "");
  const list = (what, shapes) => shapes.length ?
      ` ${what}: ${shapes.map(one => one.shape || one.problem || one).join(", ")}.` : "";
  section.querySelector(".see").textContent =
    `Ratio to cuBLAS in ${names[1]} over that in ${names[0]}: above 1 is faster. A row is slower or faster only if the 95 % interval ` +
    "excludes 1 and the change is above half a percent." + list("No winner any more", lost) +
    list("Only before", only_in_a) + list("Only after", only_in_b) +
    (environment_changes.length ? ` Not the same: ${environment_changes.join("; ")}.` : "");
  fillTable(byId("change-table"), CHANGES, rows, "changes", rows.length, () => ({}));
}

// ---- All together ----

function renderFilters() {
  const elements = Object.fromEntries([...byId("filters")
    .querySelectorAll("[name]")].map(one => [one.name, one]));
  const options = {
    group: [["", "all"], ...GROUPS.map(name => [name, name])],
    only: [["", "both"], ["sustained", "sustained"], ["burst", "burst"]],
    kind: [["", "all"], ...LEVELS.map(name => [name, name])],
    sort: COLUMNS.flatMap(one =>
        [[`-${one.key}`, `${one.name}, down`], [one.key, `${one.name}, up`]])};
  for (const [name, list] of Object.entries(options)) {
    if (!elements[name].options.length) elements[name].append(...list.map(([value, text]) =>
        element("option", {value}, text)));
    elements[name].value = state[name];
  }
  if (elements.q !== document.activeElement) elements.q.value = state.q;
}

function render() {
  if (ROWS.length) {
    renderGain();
    renderFilters();
    renderTable();
    renderRace();
  }
  if (DATA.comparison) renderComparison();
  if (typeof drawCharts === "function") drawCharts();
}

function start() {
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", event => {
      const section = byId(link.hash.slice(1));
      if (!section || section.hidden) return;
      event.preventDefault();
      choose({at: section.id}, true);
      section.scrollIntoView();
    });
  }
  addEventListener("keydown", event => { if (event.key === "Escape") hideTip(); });
  addEventListener("scroll", placeTip, {passive: true});
  if (ROWS.length) startExplorer();
  if (typeof startCharts === "function") startCharts();
  const again = () => { readHash(); render(); };
  addEventListener("popstate", again);
  again();
  const place = state.row ? "race" : state.at;
  if (place && byId(place)) byId(place).scrollIntoView();
}

function startExplorer() {
  byId("gain")
    .addEventListener("change", event => choose({[event.target.name]: event.target.value}));
  byId("filters")
    .addEventListener("input", event => choose({[event.target.name]: event.target.value}));
  byId("more").addEventListener("click", () => { rowsShown = Infinity; render(); });
  interactive(byId("table").tBodies[0], "data-row", at => rowFacts(rowAt(at)), openRow);
  startRace();
}
