// The page: takes events from the server, keeps the points, and draws. Numbers of boxes and tiles come as they are shown.

import { Chart, Strip, bytes, clock, count, element, forget, percent, small } from "./chart.js";
import { drawFlow } from "./flow.js";

const $ = (id) => document.getElementById(id);
const STATUS = { live: "live", finished: "finished", failed: "failed", gone: "process gone", lost: "connection lost" };
const KINDS = { gil: "Python holds the GIL", nothing: "no single bottleneck", "slow consumer": "data is fast enough" };
const SPANS = [["All", Infinity], ["10 min", 600], ["1 min", 60]];

let series = new Map();
let points = 0;
let now = null;
let heard = 0;
let chosen = null;
let span = Infinity;
let due = false;

// what comes ---------------------------------------------------------------------------------------

const source = new EventSource("events");
let over = false;
source.addEventListener("begin", () => { series = new Map(); points = 0; });
source.addEventListener("points", (event) => {
  for (const point of JSON.parse(event.data)) keep(point);
});
source.addEventListener("now", (event) => {
  now = JSON.parse(event.data);
  heard = performance.now();
  drawSoon();
});
source.addEventListener("over", () => { over = true; source.close(); });
source.addEventListener("error", () => {
  if (over || !now) return;
  now = { ...now, status: "lost" };
  drawSoon();
});

const WORDS = ["pipeline", "channel", "training"];

function keep(point) {
  const word = WORDS.find((name) => name in point);
  const key = `${word} ${point[word]}`;
  if (!series.has(key)) series.set(key, Object.fromEntries(Object.keys(point).map((name) => [name, []])));
  const one = series.get(key);
  for (const name in one) one[name].push(point[name]);
  points += 1;
}

function drawSoon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; draw(); });
}

// curves -------------------------------------------------------------------------------------------

// how much `above` counted for each unit that `below` did, over about a hundredth of the run; a wait is counted when it
// ends, which may be more than the while it is counted in
function rate(one, above, below, most = Infinity) {
  const { t } = one, made = [], last = t.length - 1;
  if (last < 1) return made;
  const wide = Math.max(1, (t[last] - t[0]) / 120);
  let start = 0;
  for (let i = 1; i <= last; i += 1) {
    while (start < i - 1 && t[i] - t[start + 1] >= wide) start += 1;
    const all = below(i) - below(start);
    // nothing was counted at all: the run stood still, between two epochs or after its end
    made.push([t[i], all > 0 ? Math.min(most, Math.max(0, above(i) - above(start)) / all) : null]);
  }
  return made;
}

const of = (word, number) => series.get(`${word} ${number}`);
const values = (one, name) => one.t.map((t, i) => [t, typeof one[name][i] === "number" ? one[name][i] : null]);

function waiting(pipeline, channels, trainings) {
  const channel = channels.find((c) => of("channel", c.number) && c.taken > 1);
  const training = trainings.find((t) => of("training", t.number));
  if (channel && channel.device !== "cpu") {
    const one = of("channel", channel.number);
    return ["The device waits for data", rate(one, (i) => one.waited[i], (i) => one.waited[i] + one.stepping[i], 1)];
  }
  if (training) {
    const one = of("training", training.number);
    return ["Steps wait for data", rate(one, (i) => one.waited[i], (i) => one.seconds[i], 1)];
  }
  if (channel) {
    const one = of("channel", channel.number);
    return ["Steps wait for data", rate(one, (i) => one.waited[i], (i) => one.waited[i] + one.stepping[i], 1)];
  }
  const one = of("pipeline", pipeline.number);
  return ["The consumer waits for data", rate(one, (i) => one.waited[i], (i) => one.waited[i] + one.between[i], 1)];
}

// drawing ------------------------------------------------------------------------------------------

const charts = new Map();

const ORDER = ["wait", "rows", "loss", "rate", "steps", "held", "strips"];

function chart(key, make) {
  if (!charts.has(key)) {
    const made = make();
    charts.set(key, made);
    made.root.style.order = ORDER.indexOf(key); // a loss comes later than the first rows
    $("charts").append(made.root);
  }
  return charts.get(key);
}

function drop(keys) {
  for (const [key, made] of charts) {
    if (keys.has(key)) continue;
    made.root.remove();
    forget(made);
    charts.delete(key);
  }
}

function draw() {
  if (!now) return;
  const { pipelines } = now;
  drawHead();
  const pipeline = pipelines.find((p) => p.number === chosen) ?? pipelines.findLast((p) => p.live) ?? mostRows(pipelines);
  drawTabs(pipelines, pipeline);
  const mine = (each) => each.of === null || !pipeline || each.of === pipeline.number;
  const channels = now.channels.filter(mine).slice(-2), trainings = now.trainings.filter(mine).slice(-1);
  $("empty").hidden = Boolean(pipeline);
  drawVerdict(pipeline, channels, trainings);
  drawTiles(pipeline, channels, trainings);
  $("flow-part").hidden = $("charts-part").hidden = !pipeline;
  if (pipeline) {
    drawFlow($("flow"), pipeline, channels, trainings, now.status === "live" && pipeline.live);
    drawCharts(pipeline, channels, trainings);
  }
  const root = document.documentElement;
  root.dataset.points = points;
  root.dataset.status = now.status;
  root.dataset.drawn ??= Math.round(performance.now());
}

const mostRows = (pipelines) => pipelines.reduce((best, p) => (!best || p.rows >= best.rows ? p : best), null);

function drawHead() {
  const rank = now.rank === null || now.rank === undefined ? "" : ` · rank ${now.rank}`;
  $("program").textContent = `${now.program ?? "?"}${rank}`;
  document.title = `${now.program ?? "run"} · Millrace`;
  const status = $("status");
  const words = STATUS[now.status];
  if (status.textContent !== words) status.textContent = words;
  status.className = `pill ${now.status}`;
  tick();
  const damaged = now.damaged ? ` ${now.damaged} lines of the file could not be read.` : "";
  $("foot").textContent = `Process ${now.pid} on ${now.host}. Seen again with: millrace watch ${now.file}${damaged}`;
}

function tick() {
  if (!now) return;
  const since = now.status === "live" ? (performance.now() - heard) / 1000 : 0;
  $("clock").textContent = `${now.when} · ${clock(Math.floor(now.elapsed + since))}`;
}

function drawTabs(pipelines, pipeline) {
  const tabs = $("tabs");
  tabs.hidden = pipelines.length < 2;
  if (tabs.hidden) return;
  const shown = pipelines.slice(-8);
  while (tabs.childElementCount > shown.length) tabs.lastElementChild.remove();
  shown.forEach((each, i) => {
    const tab = tabs.children[i] ?? tabs.appendChild(element("button"));
    tab.textContent = tab.title = `${each.number}. ${each.title}`;
    tab.setAttribute("aria-pressed", String(each === pipeline));
    tab.onclick = () => { chosen = each.number; draw(); };
  });
}

let told = "";

function drawVerdict(pipeline, channels, trainings) {
  const verdict = pipeline?.verdict ?? null, card = $("verdict");
  card.hidden = !verdict && now.status !== "failed";
  const note = channels.map((c) => c.verdict).find(Boolean) ?? null, training = trainings[0] ?? null;
  const waits = training && training.wait_share >= 0.05 ? [percent(training.wait_share), training.gain >= 10 ? training.gain.toFixed(0) : training.gain.toFixed(2)] : null;
  const same = JSON.stringify([verdict, note, waits, now.why]);
  if (card.hidden || same === told) return;
  told = same;
  const left = element("div"), right = element("div");
  card.replaceChildren(left);
  card.classList.toggle("warn", Boolean(now.why) || Boolean(verdict?.call) || verdict?.kind === "cores full" || Boolean(waits));
  if (now.why) {
    left.className = "one";
    left.append(element("span", "badge", "it failed"), element("h2", "", now.why));
  }
  if (verdict) {
    if (verdict.stage) {
      left.append(element("span", "badge", KINDS[verdict.kind] ?? verdict.kind));
      const head = element("h2", "", `The bottleneck is ${verdict.stage} `);
      if (verdict.place) head.append(element("small", "", verdict.place));
      left.append(head);
      const list = element("ul");
      for (const line of verdict.evidence) list.append(element("li", "", line));
      left.append(list);
    } else left.append(element("h2", "", `${verdict.evidence[0] ?? ""}.`));
    if (verdict.call) {
      right.append(element("div", "", `${verdict.advice}:`), element("code", "", verdict.call), race(verdict));
      card.append(right);
    } else {
      left.className = "one";
      if (verdict.advice) left.append(element("p", "dim", verdict.advice));
    }
  }
  const faster = waits ? ` With data always at hand the training would be ${waits[1]} times as fast.` : "";
  if (note) card.append(noted(`Transfer to the device: ${note.situation}${note.stage ? ` (${note.stage})` : ""}. `, `${upper(note.evidence)}. ${note.advice}.${faster}`));
  else if (waits) card.append(noted("On the whole: ", `steps wait for data ${waits[0]} of the time.${faster}`));
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function noted(head, text) {
  const made = element("p", "note", "");
  made.append(element("b", "", head), text);
  return made;
}

function race(verdict) {
  const made = element("div", "race");
  for (const [name, value, cls] of [["now", verdict.now, ""], ["predicted", verdict.predicted, "next"]]) {
    const rail = element("div", "rail"), bar = element("i", cls);
    bar.style.width = `${(100 * value) / Math.max(verdict.now, verdict.predicted, 1e-9)}%`;
    rail.append(bar);
    const gain = cls ? ` (${verdict.gain.toFixed(1)}x)` : "";
    made.append(element("span", "", name), rail, element("b", "", `${count(value)} rows/s${gain}`));
  }
  return made;
}

function drawTiles(pipeline, channels, trainings) {
  const tiles = [];
  const training = trainings[0];
  if (pipeline) tiles.push([count(pipeline.rate), pipeline.live ? "rows per second" : "rows/s on average"]);
  if (training) {
    tiles.push([small(+training.steps_rate.toPrecision(3)), "steps per second"]);
    tiles.push([percent(training.wait_share), "waiting for data", training.wait_share >= 0.05]);
  } else if (channels[0]) {
    tiles.push([percent(channels[0].wait_share), "waiting for data", channels[0].wait_share >= 0.05]);
  } else if (pipeline) tiles.push([percent(pipeline.wait_share), "waiting for data"]);
  if (training && training.loss !== null) tiles.push([figure(training.loss), "loss", typeof training.loss === "string"]);
  if (training && training.rate !== null) tiles.push([figure(training.rate), "learning rate"]);
  if (pipeline) {
    tiles.push([count(pipeline.rows), pipeline.live ? "rows so far" : "rows in all", false, `${pipeline.rows.toLocaleString("en")} rows in ${pipeline.batches.toLocaleString("en")} batches`]);
    const held = pipeline.live ? [bytes(pipeline.held), "held now"] : [bytes(pipeline.peak), "held at most"];
    tiles.push([...held, false, `of ${bytes(pipeline.limit)} that it may hold`]);
  }
  const root = $("tiles");
  while (root.childElementCount > tiles.length) root.lastElementChild.remove();
  tiles.forEach(([value, name, warn, more], i) => {
    let tile = root.children[i];
    if (!tile) {
      tile = root.appendChild(element("div", "card tile"));
      tile.append(element("b"), element("span"));
    }
    tile.classList.toggle("warn", Boolean(warn));
    tile.children[0].textContent = value;
    tile.children[1].textContent = name;
    tile.title = more ?? "";
  });
}

const figure = (value) => (typeof value === "string" ? value : small(value));

function drawCharts(pipeline, channels, trainings) {
  const one = of("pipeline", pipeline.number);
  if (!one) return;
  const to = now.elapsed, from = Number.isFinite(span) ? Math.max(0, to - span) : 0;
  const shown = new Set();
  const put = (key, made, data) => { shown.add(key); chart(key, made).set(data, from, to); };
  const [title, waits] = waiting(pipeline, channels, trainings);
  put("wait", () => new Chart(title, { hue: "wait", show: percent, top: 1 }), waits);
  charts.get("wait").rename(title);
  put("rows", () => new Chart("Rows per second"), rate(one, (i) => one.rows[i], (i) => one.t[i]));
  const training = trainings.find((t) => of("training", t.number));
  if (training) {
    const steps = of("training", training.number);
    const losses = values(steps, "loss"), rates = values(steps, "rate");
    if (losses.some(([, v]) => v !== null)) put("loss", () => new Chart("Loss", { hue: "queue", show: small, zero: false, log: true }), losses);
    if (rates.some(([, v]) => v !== null)) put("rate", () => new Chart("Learning rate", { hue: "good", show: small }), rates);
    put("steps", () => new Chart("Steps per second"), rate(steps, (i) => steps.steps[i], (i) => steps.t[i]));
  }
  // a pipeline that has ended holds nothing: the last point of it says no more than that
  put("held", () => new Chart("Memory held", { hue: "queue", show: bytes }), values(one, "held").slice(0, pipeline.live || one.t.length < 2 ? undefined : -1));
  charts.get("held").limit = Math.max(...one.held) > 0.2 * pipeline.limit ? pipeline.limit : null;
  drawStrips(pipeline, channels, one, from, to, shown);
  drop(shown);
  drawSpans(to);
}

const strips = new Map();

function drawStrips(pipeline, channels, one, from, to, shown) {
  const lines = [];
  pipeline.stages.forEach((stage, i) => {
    const data = one.t.map((t, n) => [t, one.fill[n][i] ?? null]);
    if (data.some(([, v]) => v > 0)) lines.push([`${pipeline.number} ${i}`, `after ${stage.ops.at(-1)?.name ?? stage.name}`, data]);
  });
  for (const channel of channels) {
    const all = of("channel", channel.number);
    if (!all) continue;
    const full = (name) => all.t.map((t, n) => [t, all[`${name}_slots`][n] ? all[name][n] / all[`${name}_slots`][n] : null]);
    if (channel.host_slots) lines.push([`host ${channel.number}`, "host ring", full("host")]);
    lines.push([`ring ${channel.number}`, channel.device === "cpu" ? "ring" : "device ring", full("ring")]);
  }
  if (!lines.length) return;
  shown.add("strips");
  const card = chart("strips", () => {
    const root = element("div", "card chart strips"), head = element("div", "top");
    head.append(element("b", "", "Queues and rings, how full"), element("span", "", "empty: it is waited for"));
    root.append(head);
    return { root };
  });
  const wanted = new Set(lines.map(([key]) => key));
  for (const [key, strip] of strips) if (!wanted.has(key)) { strip.root.remove(); forget(strip); strips.delete(key); }
  for (const [key, name, data] of lines) {
    if (!strips.has(key)) {
      strips.set(key, new Strip(name, "queue"));
      card.root.append(strips.get(key).root);
    }
    strips.get(key).set(data, from, to);
  }
}

function drawSpans(to) {
  const root = $("span");
  const shown = SPANS.filter(([, seconds]) => seconds === Infinity || to > 1.5 * seconds);
  root.hidden = shown.length < 2;
  root.replaceChildren(...shown.map(([name, seconds]) => {
    const made = element("button", "", name);
    made.setAttribute("aria-pressed", String(span === seconds));
    made.onclick = () => { span = seconds; draw(); };
    return made;
  }));
}

setInterval(tick, 1000);
