// The way of a batch as boxes: stages, rings, the step. Boxes are made once and then only told new numbers.

import { element, percent } from "./chart.js";

let built = "";
let parts = new Map();

export function drawFlow(root, pipeline, channels, trainings, live) {
  const shape = JSON.stringify([
    pipeline.number, pipeline.stages.map((s) => [s.name, s.place, s.feeds, s.ops.map((op) => op.name)]),
    channels.map((c) => [c.number, c.host_slots, c.ring_slots, c.device]), trainings.map((t) => t.number),
  ]);
  if (shape !== built) build(root, pipeline, channels, trainings);
  built = shape;
  root.classList.toggle("live", live);
  pipeline.stages.forEach((stage, i) => tellStage(parts.get(`stage ${i}`), stage));
  for (const channel of channels) {
    if (channel.host_slots) tellRing(parts.get(`host ${channel.number}`), channel.host, channel.host_slots, channel);
    tellRing(parts.get(`ring ${channel.number}`), channel.ring, channel.ring_slots, channel);
  }
  for (const training of trainings) tellStep(parts.get(`training ${training.number}`), training);
}

function build(root, pipeline, channels, trainings) {
  parts = new Map();
  const { stages } = pipeline;
  const chain = element("div", "chain");
  const last = stages.length - 1;
  if (last >= 0) grow(chain, stages, last);
  for (const channel of channels) {
    if (channel.host_slots) add(chain, `host ${channel.number}`, box("Host ring", "pinned memory", "device"), "ring");
    const where = channel.device === "cpu" ? "host memory" : channel.device;
    add(chain, `ring ${channel.number}`, box(channel.device === "cpu" ? "Ring" : "Device ring", where, "device"), "ring");
  }
  for (const training of trainings) add(chain, `training ${training.number}`, box(training.network, "", "net"), "net");
  root.replaceChildren(chain);
}

// what feeds a stage stands before it; several stand one above the other
function grow(chain, stages, number) {
  const inputs = stages.map((s, i) => i).filter((i) => stages[i].feeds === number);
  if (inputs.length === 1) grow(chain, stages, inputs[0]);
  else if (inputs.length > 1) {
    const branches = element("div", "branches");
    for (const input of inputs) {
      const inner = element("div", "chain");
      grow(inner, stages, input);
      branches.append(inner);
    }
    const step = element("div", "step wide");
    step.append(branches);
    chain.append(step);
  }
  const stage = stages[number];
  // several operations that the same workers do, one after the other, are one box with a line for each
  const several = stage.ops.length > 1;
  const made = box(several ? `${stage.ops.length} operations in one` : stage.name, "", several ? "several" : "");
  if (several) {
    const list = element("div", "ops");
    made.ops = stage.ops.map((op) => {
      const name = element("span", "", op.name), value = element("em"), bar = element("div", "bar"), part = element("i", "work");
      name.title = op.name;
      bar.append(part);
      list.append(name, bar, value);
      return { name, part, value };
    });
    made.root.insertBefore(list, made.rate);
  }
  add(chain, `stage ${number}`, made, several ? "broad" : "");
}

function add(chain, key, made, wide = "") {
  const step = element("div", `step ${wide}`);
  if (chain.childElementCount) {
    made.arrow = element("div", "arrow");
    step.append(made.arrow);
  }
  step.append(made.root);
  chain.append(step);
  parts.set(key, made);
}

function box(name, sub, cls) {
  const root = element("div", `box ${cls}`);
  const made = { root, name: element("div", "name", name), sub: element("div", "sub", sub), rate: element("div", "rate") };
  root.append(made.name, made.sub, made.rate);
  return made;
}

function meter(made, key, label, bars) {
  if (!made.meters) {
    made.meters = element("div", "meters");
    made.root.append(made.meters);
    made.bars = {};
  }
  if (!made.bars[key]) {
    const bar = element("div", "bar"), value = element("em");
    const pieces = bars.map(([cls]) => bar.appendChild(element("i", cls)));
    made.meters.append(element("span", "", label), bar, value);
    made.bars[key] = { pieces, value };
  }
  const { pieces, value } = made.bars[key];
  bars.forEach(([, share], i) => { pieces[i].style.width = `${100 * share}%`; });
  value.textContent = percent(bars.reduce((sum, [, share]) => sum + share, 0));
}

function tellStage(made, stage) {
  made.sub.textContent = [stage.on, stage.place].filter(Boolean).join(" · ");
  made.sub.title = made.sub.textContent;
  made.rate.textContent = stage.rate_words;
  made.root.classList.toggle("guilty", stage.guilty);
  made.arrow?.classList.toggle("moves", stage.rate > 0);
  made.ops?.forEach(({ name, part, value }, i) => {
    const { share, guilty } = stage.ops[i];
    part.style.width = `${100 * share}%`;
    value.textContent = percent(share);
    name.classList.toggle("guilty", guilty);
  });
  meter(made, "busy", "busy", [["work", stage.computing], ["wait", Math.max(0, stage.busy - stage.computing)]]);
  if (stage.fill !== null) meter(made, "fill", "queue", [["queue", stage.fill]]);
}

function tellRing(made, held, slots, channel) {
  made.rate.textContent = `${held} of ${slots}`;
  made.arrow?.classList.toggle("moves", channel.rate > 0);
  if (!made.slots) {
    made.slots = element("div", "slots");
    for (let i = 0; i < Math.min(slots, 32); i += 1) made.slots.append(element("i"));
    made.root.append(made.slots);
  }
  const shown = made.slots.childElementCount, full = Math.round((held / Math.max(1, slots)) * shown);
  [...made.slots.children].forEach((slot, i) => slot.classList.toggle("full", i < full));
}

function tellStep(made, training) {
  made.sub.textContent = `step ${training.step.toLocaleString("en")} · epoch ${training.epoch} of ${training.epochs}`;
  made.rate.textContent = `${training.step_words} a step`;
  made.arrow?.classList.toggle("moves", training.steps_rate > 0);
  meter(made, "step", "at work", [["work", 1 - training.wait_share]]);
  meter(made, "wait", "waits", [["wait", training.wait_share]]);
}
