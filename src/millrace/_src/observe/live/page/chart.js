// Lines over time on a canvas: crisp on any screen, in the colours of the style sheet, with one cross hair for all.

const LEFT = 50, RIGHT = 8, TOP = 8, BOTTOM = 20;
const charts = new Set();
let cursor = null;

export function element(tag, cls, text) {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function count(n) {
  const size = Math.abs(n);
  if (size >= 1e9) return figures(n / 1e9) + "G";
  if (size >= 1e6) return figures(n / 1e6) + "M";
  if (size >= 1e4) return figures(n / 1e3) + "k";
  if (size >= 10 || n === Math.round(n)) return n.toFixed(0);
  return size >= 0.01 ? String(+n.toPrecision(3)) : n.toExponential(1);
}

const figures = (n) => String(+n.toPrecision(3));
export const percent = (n) => `${(100 * n).toFixed(n > 0 && n < 0.0995 ? 1 : 0)}%`;
export const small = (n) => (n === 0 ? "0" : Math.abs(n) >= 0.001 && Math.abs(n) < 1e5 ? String(+n.toPrecision(4)) : n.toExponential(2));
export const bytes = (n) => (n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : n >= 1e5 ? `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB` : `${(n / 1e3).toFixed(1)} kB`);

export function clock(seconds) {
  if (seconds < 60) return `${+seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const whole = Math.round(seconds), pad = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
}

let colours = new Map();

function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

function steps(low, high, most) {
  const raw = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 2.5, 5, 10].find((n) => n * power >= raw * 0.999) * power;
  const made = [];
  for (let y = Math.ceil(low / size - 1e-9) * size; y <= high * (1 + 1e-9) + 1e-12; y += size) made.push(Math.abs(y) < size / 1e6 ? 0 : y);
  return made;
}

const SECONDS = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

function times(from, to, most) {
  const raw = (to - from) / most, size = SECONDS.find((n) => n >= raw) ?? Math.ceil(raw / 604800) * 604800;
  const made = [];
  for (let t = Math.ceil(from / size - 1e-9) * size; t <= to + 1e-9; t += size) made.push(t);
  return made;
}

class Canvas {
  constructor(label, hue) {
    this.canvas = element("canvas");
    this.canvas.setAttribute("role", "img");
    this.label = label;
    this.hue = hue;
    this.points = [];
    this.from = 0;
    this.to = 1;
    charts.add(this);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => point(this, event));
    this.canvas.addEventListener("pointerleave", () => point(null));
  }

  // [time, value] in order; a value of null is a gap
  set(points, from, to) {
    this.points = points;
    this.from = from;
    this.to = to > from ? to : from + 1;
    this.draw();
  }

  open() {
    const { canvas } = this, scale = window.devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    if (!wide || !high) return null;
    if (canvas.width !== Math.round(wide * scale) || canvas.height !== Math.round(high * scale)) {
      canvas.width = Math.round(wide * scale);
      canvas.height = Math.round(high * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, high);
    return { pen, wide, high };
  }

  // the mean of the points that fall on so many pixels: what changes faster cannot be seen
  smooth(x, wide) {
    const made = [];
    let place = null, sum = 0, many = 0, at = 0;
    const close = () => {
      if (many) made.push([at, sum / many]);
      sum = many = 0;
    };
    for (const [t, v] of this.points) {
      const next = Math.floor(x(t) / wide);
      if (next !== place || v === null) close();
      if (v === null) made.push([t, null]);
      else { sum += v; many += 1; at = t; }
      place = next;
    }
    close();
    return made;
  }

  line(pen, x, y, floor, points = this.points) {
    const fill = new Path2D(), stroke = new Path2D();
    let open = null, last = null;
    const close = () => {
      if (open === null) return;
      fill.lineTo(last, floor);
      fill.closePath();
      open = null;
    };
    for (const [t, v] of points) {
      if (v === null) { close(); continue; }
      const [px, py] = [x(t), y(v)];
      if (open === null) {
        open = px;
        fill.moveTo(px, floor);
        fill.lineTo(px, py);
        stroke.moveTo(px, py);
      } else {
        fill.lineTo(px, py);
        stroke.lineTo(px, py);
      }
      last = px;
    }
    close();
    pen.fillStyle = colour(this.hue);
    pen.globalAlpha = 0.13;
    pen.fill(fill);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour(this.hue);
    pen.lineWidth = 1.7;
    pen.lineJoin = "round";
    pen.stroke(stroke);
  }

  near(t) {
    const { points } = this;
    let [low, high] = [0, points.length - 1];
    if (high < 0) return null;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < t) low = middle + 1; else high = middle;
    }
    if (low > 0 && t - points[low - 1][0] < points[low][0] - t) low -= 1;
    return points[low];
  }

  hair(pen, x, y, high) {
    if (cursor === null || cursor < this.from || cursor > this.to) return null;
    const found = this.near(cursor);
    if (!found || found[1] === null) return null;
    pen.strokeStyle = colour("dim");
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(Math.round(x(found[0])) + 0.5, TOP / 2);
    pen.lineTo(Math.round(x(found[0])) + 0.5, high);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = colour(this.hue);
    pen.beginPath();
    pen.arc(x(found[0]), y(found[1]), 3.5, 0, 7);
    pen.fill();
    return found;
  }
}

export class Chart extends Canvas {
  // show: a value as text; top: a fixed upper end; zero: whether the axis begins at 0; log: powers of ten where that helps
  constructor(title, { hue = "accent", show = count, top = null, zero = true, log = false } = {}) {
    super(title, hue);
    Object.assign(this, { show, top, zero, log, limit: null });
    this.root = element("div", "card chart");
    const head = element("div", "top");
    this.title = element("b", "", title);
    this.value = element("span");
    head.append(this.title, this.value);
    this.root.append(head, this.canvas);
  }

  rename(title) {
    this.label = title;
    this.title.textContent = title;
  }

  // the ends of the axis, the values that are written beside it, and how high a value stands
  axis(seen, high) {
    let low = Infinity, most = -Infinity;
    for (const v of seen) {
      low = Math.min(low, v);
      most = Math.max(most, v);
    }
    if (this.log && low > 0 && most > 50 * low) {
      const ticks = [];
      const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(most))];
      const step = Math.ceil((last - first) / 4);
      for (let power = first; power <= last; power += step) ticks.push(10 ** power);
      return { low: Math.log10(low) - 0.1, most: Math.log10(most) + 0.1, ticks: ticks.filter((v) => v >= 0.8 * low && v <= 1.2 * most), at: Math.log10 };
    }
    if (this.zero) low = 0;
    most = this.top ?? Math.max(most, this.limit ?? -Infinity);
    if (!Number.isFinite(low)) low = 0;
    if (!Number.isFinite(most) || most <= low) most = low + (Math.abs(low) || 1);
    if (this.top === null) most += 0.06 * (most - low);
    if (!this.zero) low = low > 0 && low < 0.25 * most ? 0 : low - 0.06 * (most - low);
    return { low, most, ticks: steps(low, most, high < 160 ? 3 : 4), at: (v) => v };
  }

  draw() {
    const opened = this.open();
    if (!opened) return;
    const { pen, wide, high } = opened, floor = high - BOTTOM;
    const seen = this.points.filter(([t, v]) => v !== null && t >= this.from && t <= this.to).map(([, v]) => v);
    const { low, most, ticks, at: level } = this.axis(seen, high);
    const x = (t) => LEFT + ((t - this.from) / (this.to - this.from)) * (wide - LEFT - RIGHT);
    const y = (v) => TOP + (1 - (level(v) - low) / (most - low)) * (floor - TOP);
    pen.font = "11.5px system-ui, -apple-system, sans-serif";
    pen.fillStyle = colour("dim");
    pen.strokeStyle = colour("rule");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const v of ticks) {
      const at = Math.round(y(v)) + 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, at);
      pen.lineTo(wide - RIGHT, at);
      pen.stroke();
      pen.fillText(this.show(v), LEFT - 7, at);
    }
    pen.textBaseline = "alphabetic";
    for (const t of times(this.from, this.to, Math.max(2, Math.floor(wide / 85)))) {
      const at = x(t);
      pen.textAlign = at < LEFT + 12 ? "left" : at > wide - RIGHT - 18 ? "right" : "center";
      pen.fillText(clock(t), at, high - 5);
    }
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, wide - LEFT - RIGHT + 2, floor + 1);
    pen.clip();
    if (this.limit !== null) {
      pen.strokeStyle = colour("warn");
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(LEFT, y(this.limit));
      pen.lineTo(wide, y(this.limit));
      pen.stroke();
      pen.setLineDash([]);
    }
    this.line(pen, x, y, floor);
    const found = this.hair(pen, x, y, floor);
    pen.restore();
    const last = this.points.findLast(([, v]) => v !== null);
    const told = found ?? last;
    this.value.textContent = told ? (found ? `${this.show(told[1])} at ${clock(told[0])}` : this.show(told[1])) : "";
    this.canvas.setAttribute("aria-label", `${this.label} over time${last ? `, now ${this.show(last[1])}` : ""}`);
  }
}

// A share between 0 and 1 over time, without axes: one line of a list.
export class Strip extends Canvas {
  constructor(name, hue) {
    super(name, hue);
    this.root = element("div", "strip");
    const told = element("span", "", name);
    told.title = name;
    this.value = element("em");
    this.root.append(told, this.canvas, this.value);
  }

  draw() {
    const opened = this.open();
    if (!opened) return;
    const { pen, wide, high } = opened;
    const x = (t) => ((t - this.from) / (this.to - this.from)) * wide;
    const y = (v) => 2 + (1 - Math.min(1, v)) * (high - 4);
    pen.strokeStyle = colour("rule");
    pen.beginPath();
    for (const at of [1.5, high - 1.5]) {
      pen.moveTo(0, at);
      pen.lineTo(wide, at);
    }
    pen.stroke();
    this.line(pen, x, y, high - 2, this.smooth(x, 4));
    const found = this.hair(pen, x, y, high) ?? this.points.at(-1);
    this.value.textContent = found && found[1] !== null ? percent(found[1]) : "";
    this.canvas.setAttribute("aria-label", `${this.label}, how full over time`);
  }
}

function point(chart, event) {
  if (chart === null) cursor = null;
  else {
    const left = chart instanceof Chart ? LEFT : 0, right = chart instanceof Chart ? RIGHT : 0;
    const share = (event.offsetX - left) / (chart.canvas.clientWidth - left - right);
    cursor = chart.from + Math.min(1, Math.max(0, share)) * (chart.to - chart.from);
  }
  requestAnimationFrame(redraw);
}

export function forget(chart) {
  charts.delete(chart);
}

export function redraw() {
  for (const chart of charts) chart.draw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours = new Map();
  redraw();
});
