// The pages and their refreshing. Everything that is shown comes from the hub's API, which docs/dashboard.md describes.
import { ago, ask, duration, element, fillRows, number, setText, wordOf, workOf } from "./dom.js";
import { openExperiment } from "./experiment.js";

const PERIOD = 1500, PERIOD_AWAY = 2000, PAGE = 100;
const by = (id) => document.getElementById(id);
let limits = { experiments: PAGE, pool: PAGE };
let page = null, timer = null, turn = 0;
const folded = new Set();

const seconds = (info) => (info.started_at_us ? duration(info.running_ms / 1e3) : "–");
const best = (info) => (info.result ? number(info.result.evaluation.mean_return) : "–");

function cellsOf(info) {
  return [
    { text: info.id, href: `#/experiment/${encodeURIComponent(info.id)}` },
    { text: info.state, kind: `state ${info.state}` },
    { text: info.priority, kind: "number" },
    ago(info.submitted_at_us),
    { text: seconds(info), kind: "number" },
    { text: number(info.env_steps), kind: "number" },
    { text: number(info.learner_steps), kind: "number" },
    { text: best(info), kind: "number" },
    { text: `${info.workers} of ${info.workers_wanted}`, kind: "number" },
    { text: info.reason, kind: "text" },
  ];
}

// Experiments by group: the members of a group follow its row, by which they can be folded.
function drawExperiments(experiments) {
  const table = by("experiments-table");
  const groups = new Map();
  for (const info of experiments) {
    const name = info.group ?? "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(info);
  }
  const bodies = (table.groups ??= new Map());
  for (const [name, body] of bodies) {
    if (!groups.has(name)) {
      body.head?.remove();
      body.rows.remove();
      bodies.delete(name);
    }
  }
  for (const [name, members] of groups) {
    let body = bodies.get(name);
    if (!body) {
      body = { rows: element("tbody") };
      if (name) {
        body.button = element("button", { type: "button", "aria-expanded": "true", onclick: () => {
          folded.has(name) ? folded.delete(name) : folded.add(name);
          fold(body, name);
        } });
        body.head = element("tbody", {}, element("tr", { class: "group" }, element("td", { colspan: 10 }, body.button)));
        table.append(body.head);
      }
      table.append(body.rows);
      bodies.set(name, body);
    }
    if (name) {
      const running = members.filter((info) => info.state === "running").length;
      setText(body.button, `${name}: ${members.length} experiments, ${running} running`);
      fold(body, name);
    }
    fillRows(body.rows, members, (info) => info.id, cellsOf);
  }
}

function fold(body, name) {
  body.rows.hidden = folded.has(name);
  body.button.setAttribute("aria-expanded", String(!folded.has(name)));
}

const pages = {
  experiments: {
    title: "Experiments",
    async refresh() {
      const query = new URLSearchParams({ limit: String(limits.experiments) });
      if (by("filter-text").value) query.set("text", by("filter-text").value);
      if (by("filter-state").value) query.set("state", by("filter-state").value);
      const answer = await ask(`experiments?${query}`);
      return () => {
        drawExperiments(answer.experiments);
        const running = answer.experiments.filter((info) => info.state === "running").length;
        const queued = answer.experiments.filter((info) => info.state === "queued").length;
        setText(by("experiments-summary"), answer.experiments.length === 0 ? "No experiment."
          : `${answer.experiments.length}${answer.next ? " newest" : ""} experiments: ${running} running, ${queued} queued.`);
        by("more-experiments").hidden = !answer.next || limits.experiments >= 500;
      };
    },
  },
  pool: {
    title: "Pool",
    async refresh() {
      const answer = await ask(`pool?limit=${limits.pool}`);
      return () => {
        setText(by("hub-version"), `Waggle ${answer.software_version}`);
        const kinds = Object.entries(answer.kinds).map(([kind, count]) => `${count} ${wordOf(kind)}${count === 1 ? "" : "s"}`);
        setText(by("pool-summary"), answer.in_all === 0 ? "No process is in the pool."
          : `${answer.in_all} processes: ${kinds.join(", ")}.`);
        const table = by("pool-table");
        table.rowsHere ??= table.appendChild(element("tbody"));
        fillRows(table.rowsHere, answer.members, (member) => member.worker_id, (member) => [
          member.worker_id,
          wordOf(member.kind),
          member.host || "–",
          { text: member.process_id, kind: "number" },
          member.address || "–",
          { text: member.silent_ms < 1000 ? "now" : `${duration(member.silent_ms / 1e3)} ago`,
            kind: member.silent_ms >= 3000 ? "silent" : "" },
          { text: workOf(member) || "free", kind: "text" },
        ]);
        by("more-workers").hidden = answer.members.length >= answer.in_all || limits.pool >= 500;
      };
    },
  },
};

// Shows the page of the address. The newest call counts, if they overlap.
function route(focus) {
  const [, word, id] = location.hash.split("/");
  const name = word === "experiment" && id ? "experiment" : word === "pool" ? "pool" : "experiments";
  page?.close?.();
  page = name === "experiment" ? openExperiment(by("experiment"), decodeURIComponent(id)) : pages[name];
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === name || (name === "experiment" && link.dataset.page === "experiments")) {
      link.setAttribute("aria-current", "page");
    } else {
      link.removeAttribute("aria-current");
    }
  }
  document.title = `${page.title} – Waggle`;
  if (focus) by("main").focus();
  refresh();
}

async function refresh() {
  const mine = ++turn;
  clearTimeout(timer);
  let pause = PERIOD;
  try {
    const draw = await page.refresh();
    if (mine !== turn) return;
    by("away").hidden = true;
    draw();
  } catch (error) {
    if (mine !== turn) return;
    pause = PERIOD_AWAY;
    by("away").hidden = false;
    setText(by("away"), error.answered ? error.message
      : "The hub does not answer. What is shown is from before; the page goes on by itself when the hub is back.");
  }
  timer = setTimeout(refresh, document.hidden ? 4 * pause : pause);
}

by("filter").addEventListener("submit", (event) => event.preventDefault());
by("filter").addEventListener("input", refresh);
by("more-experiments").addEventListener("click", () => { limits.experiments += PAGE; refresh(); });
by("more-workers").addEventListener("click", () => { limits.pool += PAGE; refresh(); });
addEventListener("hashchange", () => route(true));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
route(false);
if (page !== pages.pool) ask("pool?limit=1").then((pool) => setText(by("hub-version"), `Waggle ${pool.software_version}`), () => {});
