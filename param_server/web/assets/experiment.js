// The page of one experiment.
import { ago, ask, bytes, duration, element, fillRows, number, percent, setText, wordOf } from "./dom.js";
import { makeChart, meanOf } from "./charts.js";
import { drawLoop } from "./loop.js";

// The curves of every run, then those of the algorithm, as many as there are.
const CURVES = [["evaluation/mean_return", "Return of evaluations"], ["actor/return_mean", "Return of training"],
  ["actor/env_steps_per_s", "Environment steps a second"], ["learner/steps_per_s", "Learner steps a second"],
  ["learner/policy_lag_mean", "Policy lag, learner steps"], ["learner/waiting_fraction", "Learner's share of waiting"],
  ["actor/waiting_fraction", "Actors' share of waiting"]];
const MOST_CURVES = 20, MOST_SEEDS = 8, MOST_EVENTS = 500, SLOW_EVERY = 4;

const over = (info) => ["solved", "limit", "failed", "stopped"].includes(info.state);

function facts(list) {
  return list.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

export function openExperiment(host, id) {
  const path = `experiments/${encodeURIComponent(id)}`;
  const parts = {};
  const part = (name, tag, attributes = {}) => (parts[name] = element(tag, attributes));
  const button = (name, label, change) => {
    const made = element("button", { type: "button", onclick: () => act(change, label) }, label);
    return (parts[name] = made);
  };
  host.replaceChildren(
    element("h1", {}, id),
    part("facts", "dl", { class: "facts" }),
    element("p", {}, button("stop", "Stop", "stop"), " ", button("resume", "Resume", "resume"), " ",
      part("priorityForm", "label", {}), " ",
      part("said", "span", { role: "status" })),
    part("problems", "p", { class: "silent" }),
    element("h2", {}, "The loop"),
    part("slow", "p", { class: "panel", role: "status" }),
    part("loop", "div", { class: "panel" }),
    part("waits", "div"),
    element("h2", {}, "Curves"),
    element("p", {}, element("label", {}, part("seeds", "input", { type: "checkbox" }), " ", part("seedsLabel", "span"))),
    part("charts", "div", { class: "charts" }),
    element("h2", {}, "Workers"),
    element("div", { class: "wide", role: "region", "aria-label": "Table of workers", tabindex: 0 },
      element("table", {}, element("caption", { class: "hidden" }, "Workers of the run"),
        element("thead", {}, element("tr", {}, ...["Worker", "State", "Heard", "Waits", "Memory", "Rate", "Host", "Problem"]
          .map((name) => element("th", { scope: "col" }, name)))),
        part("workers", "tbody"))),
    element("h2", {}, "Events"),
    part("events", "ol", { class: "events panel", tabindex: 0, "aria-label": "Events, the newest first" }),
    element("h2", {}, "Experiment"),
    part("yaml", "div"),
    element("details", {}, element("summary", {}, "All figures"), element("div", { class: "wide", role: "region",
      "aria-label": "Table of figures", tabindex: 0 }, element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Figure"), element("th", { scope: "col" }, "Value"))),
      part("figures", "tbody")))),
  );
  parts.priorityForm.append("Priority ", part("priority", "input", { type: "number", min: -1000000, max: 1000000, step: 1,
    onchange: () => act(`priority?priority=${encodeURIComponent(parts.priority.value)}`, "Priority") }));
  parts.seeds.addEventListener("change", () => { state.turn = 0; });
  const state = { turn: 0, events: 0, charts: new Map(), siblings: [], yaml: false, curves: {} };

  async function act(change, label) {
    if (change === "stop" && !confirm(`Stop ${id}?`)) return;
    setText(parts.said, `${label} …`);
    try {
      await ask(`${path}/${change}`, { method: "POST" });
      setText(parts.said, `${label}: done`);
    } catch (error) {
      setText(parts.said, `${label}: ${error.message}`);
    }
  }

  function drawFacts(info) {
    const result = info.result
      ? `${number(info.result.evaluation.mean_return)} over ${info.result.evaluation.episodes} episodes` +
        (info.result.confirmed ? ", confirmed" : "") : "none yet";
    parts.facts.replaceChildren(...facts([
      ["State", element("span", { class: `state ${info.state}` }, info.state)], ["Reason", info.reason || "–"],
      ["Algorithm", info.algorithm], ["Environment", info.environment], ["Seed", info.seed],
      ["Submitted", ago(info.submitted_at_us)], ["Time", duration(info.running_ms / 1e3)],
      ["Environment steps", number(info.env_steps)], ["Learner steps", number(info.learner_steps)],
      ["Weights", bytes(info.model_bytes)], ["Best result", result], ["Results in", info.output_folder],
      ...(info.owner ? [["Owner", info.owner]] : []), ...(info.tags?.length ? [["Tags", info.tags.join(", ")]] : []),
      ...(info.settings?.length ? [["Differs in", info.settings.join(", ")]] : [])]));
    parts.stop.hidden = over(info);
    parts.priorityForm.hidden = over(info);
    if (document.activeElement !== parts.priority && parts.priority.value !== String(info.priority)) {
      parts.priority.value = info.priority;
    }
    parts.resume.hidden = !["stopped", "failed"].includes(info.state);
    setText(parts.problems, info.problems.join("; "));
    parts.problems.hidden = !info.problems.length;
  }

  function drawWorkers(info) {
    fillRows(parts.workers, info.workers, (worker) => worker.worker_id, (worker) => {
      const [rate, value] = Object.entries(worker.rates ?? {}).find(([, v]) => v > 0) ?? [];
      const silent = worker.alive && worker.silent_ms >= 3000;
      return [
        `${wordOf(worker.role)}-${worker.index}`,
        { text: worker.alive ? (silent ? "silent" : worker.activity || "joined") : worker.gone ? "gone" : "silent",
          kind: worker.alive && !silent ? "" : "silent" },
        over(info) ? "–" : `${duration(worker.silent_ms / 1e3)} ago`,
        { text: percent(worker.waiting_fraction), kind: "number" },
        { text: bytes(worker.resident_bytes), kind: "number" },
        { text: rate ? `${number(value)} ${rate.replaceAll("_", " ")}/s` : "–", kind: "number" },
        `${worker.host} ${worker.process_id}`,
        { text: worker.failure || worker.last_error || "", kind: "text" },
      ];
    });
  }

  function drawWaits(waits) {
    parts.waits.replaceChildren(...waits.tables.map((table) => element("p", { class: "panel" },
      element("strong", { class: table.verdict === "deadlock" ? "silent" : "" }, `${table.table}: ${table.verdict}`),
      `: ${table.summary}`,
      ...(table.verdict === "flowing" ? [] : table.remedies.map((remedy) =>
        element("span", { class: "quiet" }, ` Would help: ${remedy.setting} ${remedy.change}, now ${remedy.now}.`))))),
      ...waits.unanswered.map((server) => element("p", { class: "panel silent" }, `${server.server}: ${server.error}`)));
  }

  function drawCurves() {
    const names = state.names ?? [];
    const extra = names.filter((name) => /^(algorithm|module)\//.test(name) && !name.endsWith("_learning_rate"));
    const wanted = [...CURVES.filter(([name]) => names.includes(name)), ...extra.map((name) => [name, name])]
      .slice(0, MOST_CURVES);
    state.wanted = wanted.map(([name]) => name);
    for (const [name, title] of wanted) {
      if (!state.charts.has(name)) {
        const chart = makeChart(title);
        state.charts.set(name, chart);
        parts.charts.append(chart.figure);
      }
      const runs = parts.seeds.checked ? Object.values(state.curves) : [state.curves[id]];
      state.charts.get(name).draw(meanOf(runs.map((curves) => curves?.[name])));
    }
    if (!wanted.length) setText(parts.charts, "No figures are recorded yet.");
    else parts.charts.firstChild?.nodeType === 3 && parts.charts.firstChild.remove();
  }

  async function fetchCurves(of) {
    const names = state.wanted?.length ? state.wanted : CURVES.map(([name]) => name);
    const answer = await ask(`experiments/${encodeURIComponent(of)}/curves?names=${names.map(encodeURIComponent).join(",")}`);
    return answer;
  }

  async function refresh() {
    const slow = state.turn++ % SLOW_EVERY === 0;
    const info = await ask(path);
    const [curves, events, waits] = await Promise.all([
      fetchCurves(id), ask(`${path}/events?after=${state.events}`),
      slow && !over(info) ? ask(`${path}/waits`) : null]);
    state.curves[id] = curves.curves;
    state.names = curves.names;
    if (slow) {
      const same = await ask(`experiments?name=${encodeURIComponent(info.name)}&limit=50`);
      state.siblings = same.experiments.filter((one) => one.id !== id && one.started_at_us &&
        one.algorithm === info.algorithm && one.environment === info.environment).slice(0, MOST_SEEDS - 1);
      if (parts.seeds.checked) {
        const all = await Promise.all(state.siblings.map((one) => fetchCurves(one.id).catch(() => null)));
        state.siblings.forEach((one, i) => { if (all[i]) state.curves[one.id] = all[i].curves; });
      }
    }
    if (!state.yaml) {
      const yaml = await ask(`${path}/yaml`);
      state.yaml = true;
      const block = (title, text) => element("details", {}, element("summary", {}, title),
        element("pre", { class: "panel", tabindex: 0, role: "region", "aria-label": title }, text));
      parts.yaml.replaceChildren(block("As it was submitted", yaml.submitted), block("With every default", yaml.effective));
    }
    return () => {
      state.info = info;
      drawFacts(info);
      parts.slow.className = info.bottleneck.station === "none" ? "panel" : "panel slow";
      setText(parts.slow, (info.bottleneck.station === "none" ? "" : `${info.bottleneck.station} is slow: `) +
        info.bottleneck.why + (info.bottleneck.settings.length ? `. Settings: ${info.bottleneck.settings.join(", ")}.` : "."));
      drawLoop(parts.loop, info.loop, info.bottleneck);
      if (waits) drawWaits(waits);
      else if (over(info)) parts.waits.replaceChildren();
      parts.seeds.parentElement.hidden = !state.siblings.length;
      setText(parts.seedsLabel, `Mean and range of ${state.siblings.length + 1} runs of this name`);
      drawCurves();
      drawWorkers(info);
      fillRows(parts.figures, Object.entries(info.figures), ([name]) => name,
        ([name, value]) => [name, { text: number(value), kind: "number" }]);
      for (const event of events.events) {
        const at = new Date(event.at_us / 1e3);
        parts.events.prepend(element("li", {}, element("time", { datetime: at.toISOString() }, at.toLocaleString()), event.text));
        state.events = event.number;
      }
      while (parts.events.children.length > MOST_EVENTS) parts.events.lastChild.remove();
    };
  }

  const resized = new ResizeObserver(() => { if (state.info) drawLoop(parts.loop, state.info.loop, state.info.bottleneck); });
  resized.observe(parts.loop);
  return { title: id, refresh, close: () => resized.disconnect() };
}
