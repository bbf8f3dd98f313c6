// Elements, texts of figures, and requests.

export function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "rect", "text", "title", "desc", "polygon", "polyline", "tspan"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Makes the rows of a table body those of `items`: rows that stay keep their elements, and so their focus. A cell is a
// text, or {text, href, kind}.
export function fillRows(body, items, keyOf, cellsOf) {
  body.rowsByKey ??= new Map();
  const seen = new Set();
  let before = null;
  for (const item of items) {
    const key = keyOf(item);
    seen.add(key);
    let row = body.rowsByKey.get(key);
    const cells = cellsOf(item);
    if (!row) {
      row = element("tr");
      for (const cell of cells) {
        const inner = cell?.href ? element("a", { href: cell.href }) : null;
        row.append(inner ? element("td", {}, inner) : element("td"));
      }
      body.rowsByKey.set(key, row);
    }
    cells.forEach((cell, i) => {
      const td = row.children[i];
      const kind = cell?.kind ?? "";
      if (td.className !== kind) td.className = kind;
      const text = cell?.text ?? cell ?? "";
      setText(td.firstElementChild ?? td, String(text));
    });
    const wanted = before ? before.nextSibling : body.firstChild;
    if (wanted !== row) body.insertBefore(row, wanted);
    before = row;
  }
  for (const [key, row] of body.rowsByKey) {
    if (!seen.has(key)) {
      row.remove();
      body.rowsByKey.delete(key);
    }
  }
}

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return Number((value / unit).toPrecision(3)) + letter;
  }
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

export const percent = (share) =>
  share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`;

export function bytes(value) {
  if (!value) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${(value / 2 ** (10 * power)).toFixed(power ? 1 : 0)} ${units[power]}`;
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export const ago = (us) => (us ? `${duration(Math.max(0, Date.now() / 1e3 - us / 1e6))} ago` : "–");

// The JSON of a path below /api/, or an Error with its message; `gone` is set if the hub has answered so itself.
export async function ask(path, options = {}) {
  const answer = await fetch(`api/${path}`, { cache: "no-cache", ...options, signal: AbortSignal.timeout(10000) });
  const json = await answer.json();
  if (!answer.ok) {
    const error = new Error(json.error?.message ?? `status ${answer.status}`);
    error.answered = answer.status;
    throw error;
  }
  return json;
}

const letterOf = (kind) => kind.replaceAll("_", "-");
export const workOf = (member) =>
  member.orders.map((order) => `${letterOf(order.role)} ${order.index} of ${order.experiment_id}`).join(", ") +
  (member.leaving ? " (leaving)" : "");
export const wordOf = letterOf;
