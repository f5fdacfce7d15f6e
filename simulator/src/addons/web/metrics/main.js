// The metrics dashboard: the usage of the pods, as the time-series database has it.

import { request, service } from "./api.js";
import { $, h, s, show, themeButton } from "./dom.js";

const DATABASE = service("monitoring-influxdb:api");
const COLORS = ["#6d86ee", "#3aa981", "#e0914b", "#c765a8", "#4aa8c9", "#a0a34a", "#d8655f", "#8d78d6"];
const PANELS = [
  ["CPU by pod", "cpu/usage_rate", (value) => `${Math.round(value)}m`],
  ["Memory by pod", "memory/usage", (value) => `${(value / 1048576).toFixed(1)} MiB`],
];
const [LEFT, HEIGHT] = [72, 240];

/** The series of a measurement: name of the pod, and points of time and value. */
async function load(measurement) {
  const query = `SELECT mean("value") FROM "${measurement}" WHERE time > now() - ${$("#range").value} GROUP BY time(1m), "namespace_name", "pod_name"`;
  const found = await request(`${DATABASE}/query?db=k8s&epoch=ms&q=${encodeURIComponent(query)}`);
  return (found.results[0].series ?? []).map(({ tags, values }) => ({ name: `${tags.namespace_name}/${tags.pod_name}`, points: values }));
}

function plot(series, unit, title) {
  const width = Math.max(300, $("#charts").clientWidth - 34);
  const times = series.flatMap(({ points }) => points.map(([time]) => time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const most = Math.max(1, ...series.flatMap(({ points }) => points.map(([, value]) => value))) * 1.1;
  const x = (time) => LEFT + ((time - first) / Math.max(60_000, last - first)) * (width - LEFT - 12);
  const y = (value) => 10 + (HEIGHT - 36) * (1 - value / most);
  const drawing = s("svg", { class: "plot", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${title} of ${series.length} pods` });
  for (const part of [0, 0.5, 1]) {
    drawing.append(s("line", { x1: LEFT, x2: width, y1: y(most * part), y2: y(most * part), class: "grid" }), s("text", { x: LEFT - 8, y: y(most * part) + 4, class: "tick", "text-anchor": "end" }, unit(most * part)));
  }
  for (const [time, anchor] of [[first, "start"], [last, "end"]]) drawing.append(s("text", { x: x(time), y: HEIGHT - 6, class: "tick", "text-anchor": anchor }, `${new Date(time).toISOString().slice(11, 16)} UTC`));
  series.forEach(({ points }, index) => {
    const color = COLORS[index % COLORS.length];
    const line = points.map(([time, value], at) => `${at ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const path = s("path", { d: line });
    path.style.stroke = color;
    drawing.append(path);
    const [time, value] = points.at(-1);
    const dot = s("circle", { cx: x(time), cy: y(value), r: 3.5 });
    dot.style.fill = color;
    drawing.append(dot);
  });
  return drawing;
}

async function draw() {
  try {
    const panels = await Promise.all(PANELS.map(async ([title, measurement, unit]) => [title, unit, await load(measurement)]));
    show(
      $("#charts"),
      panels.map(([title, unit, series]) =>
        h(
          "section.card",
          { "aria-label": title },
          h("h2", {}, title),
          series.length
            ? [plot(series, unit, title), h("ul.legend", {}, series.map(({ name, points }, index) => h("li", {}, h("i", { style: { background: COLORS[index % COLORS.length] } }), `${name} `, h("b", {}, unit(points.at(-1)[1])))))]
            : h("p.soft", {}, "No samples. The usage of a pod is what its annotations ", h("code", {}, "stuntdouble/cpu-usage"), " and ", h("code", {}, "stuntdouble/memory-usage"), " say."),
        ),
      ),
    );
  } catch (error) {
    show($("#charts"), h("p.notice.bad", { role: "alert" }, error.message));
  }
}

show($("#theme"), themeButton());
$("#range").addEventListener("change", draw);
setInterval(draw, 10_000);
draw();
