// All configs of a row's race: the filter (`state.brush`: values for each axis, two bounds for
// "speed"), and their table. The charts are in report_charts.js.
"use strict";

// The axes that people compare first. Another axis is shown if the configs of a race differ in it.
const MAIN_AXES = ["tile", "q", "cluster", "order", "scheduler"];
const OTHER_AXES = ["family", "bk", "schedule", "store", "pdl"];
const AXIS_NAMES = {q: "stages", pdl: "PDL"};
const axisName = axis => AXIS_NAMES[axis] || axis;
const NONE = "none";  // the value for a config of a family without the axis

/// The configs of a row's race, fastest first; null if the report has no race for it.
function configsOf(row) {
  const race = row.race === null ? null : DATA.configs.races[row.race];
  if (!race) return null;
  // Without cuBLAS in the race, speed is that of the fastest.
  const beside = race.speed.some(speed => speed !== null);
  const least = Math.min(...race.time_us);
  const configs = race.config.map((place, i) => ({
    i, label: DATA.configs.labels[place], speed: beside ? race.speed[i] : least / race.time_us[i],
    time_us: race.time_us[i], sm_mhz: race.sm_mhz[i], final: race.final[i] === 1, low: race.low[i],
    high: race.high[i],
    tie: race.tie[i] === 1, of: axis => {
      const values = DATA.configs.axes[axis];
      return values && values.of[place] >= 0 ? values.values[values.of[place]] : NONE;
    }})).filter(config => config.speed !== null);
  return {...race, configs, beside, unit: beside ? "x cuBLAS" : "of the fastest"};
}

/// The values of an axis that these configs have, in order.
function valuesOf(axis, configs) {
  const there = new Set(configs.map(config => config.of(axis)));
  const known = DATA.configs.axes[axis] ? DATA.configs.axes[axis].values : [];
  return [...known.filter(value => there.has(value)), ...(there.has(NONE) ? [NONE] : [])];
}

function axesOf(configs) {
  return [...MAIN_AXES, ...OTHER_AXES.filter(axis => valuesOf(axis, configs).length > 1)]
    .filter(axis => DATA.configs.axes[axis]);
}

/// Whether what was brushed keeps the config.
function isKept(config) {
  return Object.entries(state.brush).every(([axis, values]) => axis === "speed" ?
    config.speed >= Number(values[0]) && config.speed <= Number(values[1]) :
        values.includes(config.of(axis)));
}

function configFacts(config, race) {
  return [
    [config.label, ""],
    [race.unit,
        config.speed.toFixed(3) +
        (interval(config.low, config.high) ||
        (config.final ? " (no interval: few rounds)" : " (no interval: only screened)"))],
    ["time", `${significant(config.time_us)} us`],
    ["SM clock", config.sm_mhz ? `${config.sm_mhz.toFixed(0)} MHz` : "not read"],
    ["tie", config.label === race.winner ? "the winner of this race" : config.tie ?
        "cannot be told from the winner" : config.final ? "no" :
        "not known: it left before the end"],
  ];
}

/// In quotes where a shell would read more than a word.
const quoted = text => /^[\w.,:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const commandOf = (row, config) =>
  `hgemm-tune --shapes ${quoted(row.shape)} --regime ${row.regime} --config ${quoted(config.label)}`;

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // not allowed, as in some browsers on a page from a file
    const area = element("textarea", {class: "unseen"}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied: ${text}`);
}

function copyButton(name, what, text) {
  const button = element("button",
      {type: "button", class: "copy", "aria-label": `Copy ${what} ${text}`, onclick: async () => {
    await copy(text, what);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  }}, name);
  return button;
}

let race = null, raceRow = null, configsShown = 15;

const configColumns = () => [
  {name: "config", key: "label", value: one => one.label, cell: one => breakable(one.label),
      class: "label"},
  {name: race.unit, key: "speed", value: one => one.speed, number: true, class: "ratio",
      cell: one => element("span", {},
    element("b", {}, one.speed.toFixed(3)),
        element("small", {}, interval(one.low, one.high) || " screened"))},
  {name: "us", key: "time_us", value: one => one.time_us,
      cell: one => one.final ? significant(one.time_us) :
      element("small", {}, significant(one.time_us)), number: true},
  {name: "SM MHz", key: "sm_mhz", value: one => one.sm_mhz,
      cell: one => one.sm_mhz ? one.sm_mhz.toFixed(0) : "–", number: true},
  {name: "tie", key: "tie", value: one => one.tie ? 1 : 0,
      cell: one => one.label === race.winner ? "winner" : one.tie ? "tie" : ""},
  {name: "copy",
      cell: one => element("span", {class: "buttons"}, copyButton("label", "label", one.label),
    copyButton("command", "command", commandOf(raceRow, one)))},
];

function raceSentence() {
  const {configs, measured, not_timed} = race;
  const failed = Object.entries(not_timed)
    .map(([status, count]) => `${count} ${status.replaceAll("_", " ")}`);
  const left = measured - configs.length;
  return `${measured} configs were timed in the race of ${raceRow.date}` +
    (failed.length ? `; not timed: ${failed.join(", ")}` : "") + ". " +
    (left ? `Of them ${configs.length} are here: the fastest half of ${DATA.configs.most_of_race}, and of the others as many, evenly by speed; ${left} are left out. ` : "") +
    "Configs without an interval (hollow marks) left in the screening: their few samples are " +
    "scaled so that none seems faster than the median finalist.";
}

function renderRaceFilters() {
  const box = byId("race-filters");
  const choices = axesOf(race.configs).map(axis => {
    const kept = state.brush[axis];
    const select = element("select", {"data-axis": axis},
      element("option", {value: ""}, "any"), ...valuesOf(axis, race.configs)
        .map(value => element("option", {value}, value)));
    if (kept &&
        kept.length > 1) select.append(element("option", {value: "several"},
        `${kept.length} values`));
    select.value = kept ? (kept.length > 1 ? "several" : kept[0]) : "";
    return element("label", {}, `${axisName(axis)} `, select);
  });
  const fastest = race.configs.length ? race.configs[0].speed : 1;
  const speeds = element("select", {"data-axis": "speed"}, element("option", {value: ""}, "any"),
    ...[0.99, 0.98, 0.95, 0.9,
        0.8].map(part =>
        element("option", {value: String(part)}, `within ${Math.round(100 - part * 100)} %`)));
  const given = state.brush.speed;
  const share = given &&
      [...speeds.options].find(option => option.value &&
      Math.abs(Number(given[0]) - fastest * Number(option.value)) < 1e-3);
  if (given &&
      !share) speeds.append(element("option", {value: "several"},
      `${Number(given[0]).toFixed(3)} to ${Number(given[1]).toFixed(3)}`));
  speeds.value = given ? (share ? share.value : "several") : "";
  const strip = element("select", {"data-strip": ""}, ...axesOf(race.configs)
    .map(axis => element("option", {value: axis}, axisName(axis))));
  strip.value = state.strip;
  const focused = document.activeElement && box.contains(document.activeElement) ?
      document.activeElement.getAttribute("data-axis") : null;
  const charts = typeof drawCharts === "function";
  box.replaceChildren(
    ...(charts ? [element("label", {}, "Columns of the first chart ", strip)] : []), ...choices,
    element("label", {}, "of the fastest ", speeds),
    element("button",
        {type: "button", "data-axis": "clear", disabled: Object.keys(state.brush).length === 0,
        onclick: () => choose({brush: {}})}, "Keep all"));
  if (focused) box.querySelector(`[data-axis="${focused}"]`).focus();
}

function renderRace() {
  raceRow = ROW_OF.get(state.row) || null;
  race = raceRow && configsOf(raceRow);
  const section = byId("race");
  section.hidden = !raceRow;
  if (!raceRow) return;
  const title = section.querySelector("h2");
  title.tabIndex = -1;
  title.textContent = `${raceRow.shape}, ${raceRow.regime}: ${race ? `the race of the best ${raceRow.pdl === "off" ? "without PDL" : `with PDL ${raceRow.pdl}`}` : "its race is not in this report"}`;
  for (const part of section.querySelectorAll(".controls, #race-charts, table, h3, p:not(.eyebrow)")) part.hidden = !race;
  if (!race) return;
  if (!axesOf(race.configs).includes(state.strip)) state.strip = DEFAULTS.strip;
  section.querySelector(".see").textContent = raceSentence();
  byId("race-charts").hidden = typeof drawCharts !== "function";
  renderRaceFilters();
  const kept = race.configs.filter(isKept);
  byId("configs-title").textContent = `${kept.length} of ${race.configs.length} configs`;
  fillTable(byId("configs"), configColumns(), kept, "configs", configsShown, (one, i) => ({
    "data-config": String(one.i), tabindex: i === 0 ? "0" : "-1",
        class: one.label === (state.config || raceRow.label) ? "chosen" : null}));
  const more = byId("more-configs");
  more.hidden = kept.length <= configsShown;
  more.textContent = `Show all ${kept.length} configs`;
}

const configAt = at => race.configs.find(one => String(one.i) === at.getAttribute("data-config"));

/// A config that is chosen is ringed in the charts, and part of the link to this page.
function chooseConfig(at) {
  const config = configAt(at), chart = at.closest("[id]").id;  // `at` is drawn anew
  choose({config: state.config === config.label ? "" : config.label});
  const again = document.querySelector(`#${chart} [data-config="${config.i}"]`);
  if (again) again.focus();
}

function startRace() {
  byId("more-configs").addEventListener("click", () => { configsShown = Infinity; render(); });
  byId("race-filters").addEventListener("change", event => {
    const {axis} = event.target.dataset, {value} = event.target;
    if (!axis) return choose({strip: value});
    if (value === "several") return;
    const brush = {...state.brush};
    delete brush[axis];
    if (value) brush[axis] = axis === "speed" ?
        [(race.configs[0].speed * Number(value)).toFixed(4), race.configs[0].speed.toFixed(4)] :
        [value];
    choose({brush});
  });
  interactive(byId("configs").tBodies[0], "data-config", at => configFacts(configAt(at), race),
      chooseConfig);
}
