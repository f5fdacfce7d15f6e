// Charts: bars over time, which can be brushed with the pointer or walked with the keyboard.

import { count, h, s } from "./dom.js";
import { full, short } from "./time.js";

const SERIES = ["#6d86ee", "#3aa981", "#e0914b", "#c765a8", "#4aa8c9", "#a0a34a", "#d8655f", "#8d78d6", "#6b9a5b", "#a58063"];
const OTHER = "#8b93a3";

export const color = (index) => (index < 0 ? OTHER : SERIES[index % SERIES.length]);

/** A rounded maximum for an axis. */
function nice(most) {
  if (most <= 5) return Math.max(1, most);
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * step).find((top) => top >= most);
}

/**
 * Draws bars into `host`. `buckets` have `key` (milliseconds), `doc_count` and, if stacked, `parts` ([series, count]).
 * `onRange(from, to)` is called with the range that a person chooses.
 */
export function bars(host, { buckets, from, to, step, height, onRange, label, names = [] }) {
  // A range that is being drawn is not taken from under the pointer; the next result is.
  const before = host.querySelector(".chart");
  if (before?.dataset.drawing) return;
  const read = before && (before.contains(document.activeElement) || before.matches(":hover")) ? Number(before.dataset.bar) : NaN;
  const hadFocus = Boolean(before?.contains(document.activeElement));
  const width = Math.max(240, host.clientWidth);
  const [left, bottom, top] = [44, 20, 8];
  const plot = { width: width - left - 8, height: height - bottom - top };
  const most = nice(Math.max(1, ...buckets.map((bucket) => bucket.doc_count)));
  const span = Math.max(step, to - from);
  const x = (time) => left + ((time - from) / span) * plot.width;
  const y = (number) => top + plot.height * (1 - number / most);

  const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (const part of [0, 0.5, 1]) {
    const at = y(most * part);
    drawing.append(
      s("line", { x1: left, x2: width - 8, y1: at, y2: at, class: "grid" }),
      s("text", { x: left - 6, y: at + 4, class: "tick", "text-anchor": "end" }, Number.isInteger(most * part) ? count(most * part) : ""),
    );
  }
  const ticks = Math.max(2, Math.floor(plot.width / 110));
  for (let tick = 0; tick <= ticks; tick += 1) {
    const time = from + (span * tick) / ticks;
    const anchor = tick === 0 ? "start" : tick === ticks ? "end" : "middle";
    drawing.append(s("text", { x: x(time), y: height - 4, class: "tick", "text-anchor": anchor }, short(time, span)));
  }
  const drawn = buckets.map((bucket) => {
    const start = Math.max(left, x(bucket.key));
    const wide = Math.max(1, Math.min(x(bucket.key + step), left + plot.width) - start - 1);
    const group = s("g", {});
    let below = 0;
    for (const [series, number] of bucket.parts ?? [[null, bucket.doc_count]]) {
      const rect = s("rect", { x: start, width: wide, y: y(below + number), height: Math.max(1, y(below) - y(below + number)), rx: 1.5 });
      if (series === null) rect.setAttribute("class", "bar");
      else rect.style.fill = color(series);
      group.append(rect);
      below += number;
    }
    drawing.append(group);
    return group;
  });
  const selection = s("rect", { class: "brush", y: top, height: plot.height, width: 0, x: left });
  drawing.append(selection);

  const tip = h("div.chart-tip", { hidden: true });
  const frame = h("div.chart", {
    tabIndex: 0,
    role: "slider",
    "aria-label": label,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(0, buckets.length - 1),
    "aria-valuenow": 0,
    "aria-valuetext": buckets.length ? "Use the arrow keys to read the bars, Enter to zoom in" : "No bars",
  });
  frame.append(drawing, tip);
  host.replaceChildren(frame);

  const describe = (bucket) => {
    const parts = (bucket.parts ?? []).filter(([series]) => series !== null).map(([series, number]) => `${names[series] ?? "other"}: ${count(number)}`);
    return [`${full(bucket.key).slice(0, 19)} UTC`, `${count(bucket.doc_count)} ${bucket.doc_count === 1 ? "line" : "lines"}`, ...parts];
  };
  let current = -1;
  const point = (index) => {
    drawn[current]?.removeAttribute("class");
    current = index;
    const bucket = buckets[index];
    tip.hidden = !bucket;
    frame.dataset.bar = bucket?.key ?? "";
    if (!bucket) return;
    drawn[index].setAttribute("class", "current");
    tip.replaceChildren(...describe(bucket).map((line) => h("div", {}, line)));
    tip.style.left = `${Math.min(Math.max(4, x(bucket.key) - 70), width - 190)}px`;
    frame.setAttribute("aria-valuenow", index);
    frame.setAttribute("aria-valuetext", describe(bucket).join(", "));
  };
  const timeAt = (event) => {
    const offset = event.clientX - frame.getBoundingClientRect().left;
    return from + (Math.min(Math.max(offset - left, 0), plot.width) / plot.width) * span;
  };
  let began = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    began = timeAt(event);
    frame.dataset.drawing = "true";
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    const time = timeAt(event);
    if (began === null) {
      point(buckets.findIndex((bucket) => time >= bucket.key && time < bucket.key + step));
      return;
    }
    selection.setAttribute("x", x(Math.min(began, time)));
    selection.setAttribute("width", Math.abs(x(time) - x(began)));
  });
  frame.addEventListener("pointercancel", () => {
    began = null;
    delete frame.dataset.drawing;
    selection.setAttribute("width", 0);
  });
  frame.addEventListener("pointerup", (event) => {
    if (began === null) return;
    delete frame.dataset.drawing;
    const [first, last] = [Math.min(began, timeAt(event)), Math.max(began, timeAt(event))];
    began = null;
    selection.setAttribute("width", 0);
    if (x(last) - x(first) > 4) onRange(Math.floor(first), Math.ceil(last));
    else if (buckets[current]) onRange(buckets[current].key, buckets[current].key + step - 1);
  });
  frame.addEventListener("pointerleave", () => began === null && point(-1));
  frame.addEventListener("blur", () => point(-1));
  frame.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
    if (event.key in moves) point(Math.min(buckets.length - 1, Math.max(0, current + moves[event.key])));
    else if (event.key === "Home") point(0);
    else if (event.key === "End") point(buckets.length - 1);
    else if (event.key === "Enter" && buckets[current]) onRange(buckets[current].key, buckets[current].key + step - 1);
    else return;
    event.preventDefault();
  });
  if (hadFocus) frame.focus({ preventScroll: true });
  if (Number.isFinite(read)) point(buckets.findIndex((bucket) => bucket.key === read));
}
