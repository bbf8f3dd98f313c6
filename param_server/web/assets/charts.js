// Curves as SVG.
import { element, number } from "./dom.js";

const WIDTH = 360, HEIGHT = 200, LEFT = 48, RIGHT = 8, TOP = 8, BOTTOM = 24;

// Round numbers between two, at most five of them.
function ticks(low, high) {
  const rough = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const all = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) all.push(tick);
  return all;
}

// Linear in between, by the x of the points; null outside of them.
function valueAt(xs, ys, x) {
  if (!xs.length || x < xs[0] || x > xs[xs.length - 1]) return null;
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  const span = xs[high] - xs[low];
  return span > 0 ? ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / span : ys[high];
}

// The curve with one point for each step: several evaluations may be of weights of one step.
function atSteps(curve) {
  const merged = { step: [], mean: [], low: [], high: [] };
  for (let i = 0; i < curve.step.length;) {
    let end = i;
    while (end < curve.step.length && curve.step[end] === curve.step[i]) ++end;
    merged.step.push(curve.step[i]);
    merged.mean.push(curve.mean.slice(i, end).reduce((a, b) => a + b, 0) / (end - i));
    merged.low.push(Math.min(...curve.low.slice(i, end)));
    merged.high.push(Math.max(...curve.high.slice(i, end)));
    i = end;
  }
  return merged;
}

// The mean of several curves, and the range from the least to the greatest, at points of their steps.
export function meanOf(curves, points = 200) {
  curves = curves.filter((curve) => curve && curve.step.length);
  if (curves.length === 1) return atSteps(curves[0]);
  if (!curves.length) return null;
  const first = Math.min(...curves.map((c) => c.step[0]));
  const last = Math.max(...curves.map((c) => c.step[c.step.length - 1]));
  const mean = { step: [], mean: [], low: [], high: [] };
  for (let i = 0; i <= points; ++i) {
    const x = first + ((last - first) * i) / points;
    const values = curves.map((c) => valueAt(c.step, c.mean, x)).filter((v) => v !== null);
    if (!values.length) continue;
    mean.step.push(x);
    mean.mean.push(values.reduce((a, b) => a + b, 0) / values.length);
    mean.low.push(Math.min(...values));
    mean.high.push(Math.max(...values));
  }
  return mean;
}

// A figure with a curve over environment steps. It is made once and drawn again with new data.
export function makeChart(title) {
  const last = element("span");
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  const figure = element("figure", { class: "panel" }, element("figcaption", {}, element("span", {}, title), last), svg);
  let drawn = "";
  return {
    figure,
    draw(curve) {
      const key = curve ? `${curve.step.length} ${curve.step.at(-1)} ${curve.mean.at(-1)}` : "none";
      if (key === drawn) return;
      drawn = key;
      svg.replaceChildren();
      const xs = curve?.step ?? [];
      last.textContent = xs.length ? number(curve.mean.at(-1)) : "no figures yet";
      svg.setAttribute("aria-label", xs.length
        ? `${title}: ${number(curve.mean.at(-1))} after ${number(xs.at(-1))} environment steps, from ` +
          `${number(Math.min(...curve.low))} to ${number(Math.max(...curve.high))}`
        : `${title}: no figures yet`);
      if (!xs.length) return;
      let low = Math.min(...curve.low), high = Math.max(...curve.high);
      if (low === high) {
        low -= Math.abs(low) / 10 || 1;
        high += Math.abs(high) / 10 || 1;
      }
      const from = xs[0], to = xs.at(-1) > from ? xs.at(-1) : from + 1;
      const x = (value) => LEFT + ((value - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
      const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
      for (const tick of ticks(low, high)) {
        svg.append(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
          element("text", { class: "tick", x: LEFT - 4, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
      }
      for (const tick of ticks(from, to)) {
        const end = x(tick) > WIDTH - RIGHT - 16 ? "end" : "middle";
        svg.append(element("text", { class: "tick", x: x(tick), y: HEIGHT - 8, "text-anchor": end }, number(tick)));
      }
      const at = (values, i) => `${x(xs[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
      const forth = xs.map((_, i) => at(curve.high, i));
      const back = xs.map((_, i) => at(curve.low, i)).reverse();
      svg.append(element("polygon", { class: "band", points: [...forth, ...back].join(" ") }),
        element("polyline", { class: "curve", points: xs.map((_, i) => at(curve.mean, i)).join(" ") }));
    },
  };
}
