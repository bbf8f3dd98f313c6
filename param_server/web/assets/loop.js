// The loop of a run as a drawing: its stations, the hops between them with their rates, and the slow one.
import { element, number, percent } from "./dom.js";

const BOX = { width: 124, height: 58 };
// Middle points of the boxes, on a wide page and on a narrow one.
const WIDE = { width: 860, height: 230, at: { environment: [70, 45], actor: [310, 45], replay: [550, 45],
  learner: [790, 45], hub: [550, 185] } };
const NARROW = { width: 340, height: 470, at: { environment: [70, 36], actor: [70, 166], replay: [70, 296],
  learner: [70, 430], hub: [272, 296] } };

// From one box's edge to another's, with the text's place.
function route(from, to, narrow) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const w = BOX.width / 2, h = BOX.height / 2;
  if (dy === 0) {
    const s = Math.sign(dx);
    return { points: [[from[0] + s * w, from[1]], [to[0] - s * w, to[1]]], text: [(from[0] + to[0]) / 2, from[1] - 8],
      anchor: "middle" };
  }
  if (dx === 0) {
    const s = Math.sign(dy);
    return { points: [[from[0], from[1] + s * h], [to[0], to[1] - s * h]], text: [from[0] + 8, (from[1] + to[1]) / 2 + 4],
      anchor: "start" };
  }
  // A corner: along the long side of the drawing last, for the hub's hops.
  const toHub = narrow ? [[from[0] + w, from[1]], [to[0], from[1]], [to[0], to[1] + Math.sign(-dy) * h]]
    : [[from[0], from[1] + Math.sign(dy) * h], [from[0], to[1]], [to[0] + Math.sign(-dx) * w, to[1]]];
  const fromHub = narrow ? [[from[0], from[1] + Math.sign(dy) * h], [from[0], to[1]], [to[0] + w, to[1]]]
    : [[from[0] + Math.sign(dx) * w, from[1]], [to[0], from[1]], [to[0], to[1] + h]];
  return { toHub, fromHub };
}

export function drawLoop(host, loop, bottleneck) {
  const narrow = host.clientWidth > 0 && host.clientWidth < 560;
  const key = JSON.stringify([loop, bottleneck, narrow]);
  if (host.drawn === key) return;
  host.drawn = key;
  const plan = narrow ? NARROW : WIDE;
  const words = loop.hops.map((hop) => `${hop.from} to ${hop.to}: ${number(hop.per_s)} ${hop.unit} a second`);
  const svg = element("svg", { class: narrow ? "loop narrow" : "loop", viewBox: `0 0 ${plan.width} ${plan.height}`, role: "img",
    "aria-label": `The loop: ${words.join("; ")}. ` +
      (bottleneck.station === "none" ? "No station is slow." : `The slow station is the ${bottleneck.station}.`) });
  for (const hop of loop.hops) {
    const found = route(plan.at[hop.from], plan.at[hop.to], narrow);
    let { points, text, anchor } = found;
    if (!points) {
      points = hop.to === "hub" ? found.toHub : found.fromHub;
      if (hop.from !== "hub" && hop.to !== "hub") points = found.toHub;
      const [a, b] = narrow ? [points[0], points[1]] : [points[1], points[2]];
      if (!narrow && hop.from === "hub") [text, anchor] = [[(points[0][0] + points[1][0]) / 2, points[0][1] - 8], "middle"];
      else [text, anchor] = [[(a[0] + b[0]) / 2, (narrow ? a[1] : b[1]) - 8], "middle"];
      if (narrow && hop.from === "hub") [text, anchor] = [[(points[1][0] + points[2][0]) / 2, points[2][1] - 8], "middle"];
    }
    const end = points.at(-1), before = points.at(-2);
    const angle = (Math.atan2(end[1] - before[1], end[0] - before[0]) * 180) / Math.PI;
    svg.append(element("polyline", { class: "hop", points: points.map((p) => p.join(",")).join(" ") }),
      element("path", { class: "arrow", d: "M0 0L-9 5L-9 -5z", transform: `translate(${end.join(" ")}) rotate(${angle})` }),
      element("text", { class: "small", x: text[0], y: text[1], "text-anchor": anchor },
        `${number(hop.per_s)} ${hop.unit}/s`));
  }
  for (const station of loop.stations) {
    const [x, y] = plan.at[station.name];
    const slow = station.name === bottleneck.station;
    const share = station.waiting !== undefined && station.waiting !== null ? `waits ${percent(station.waiting)}`
      : station.busy !== undefined && station.busy !== null ? `${percent(station.busy)} of acting` : "";
    const many = station.processes !== undefined ? `${station.processes} × ` : "";
    svg.append(element("rect", { class: slow ? "station is-slow" : "station", x: x - BOX.width / 2, y: y - BOX.height / 2,
      width: BOX.width, height: BOX.height, rx: 8 }),
      element("text", { class: "title", x, y: y + (share || slow ? -6 : 5), "text-anchor": "middle" }, many + station.name));
    if (slow) svg.append(element("text", { class: "mark", x, y: y + 14, "text-anchor": "middle" },
      share ? `slow, ${share}` : "slow"));
    else if (share) svg.append(element("text", { class: "small", x, y: y + 14, "text-anchor": "middle" }, share));
  }
  host.replaceChildren(svg);
}
