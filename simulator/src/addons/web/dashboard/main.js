// The user interface of the cluster: sections, namespaces, and what is shown of them, by the page's address.

import { Detail } from "./detail.js";
import { $, h, patch, show, themeButton } from "./dom.js";
import { RESOURCES, isLive, list, onChange, podState, start } from "./store.js";
import { WORKLOADS, eventTable, onSort, overview, resourceTable, workloads } from "./tables.js";

const SECTIONS = [["overview", "Overview"], ["workloads", "Workloads"], ["pods", "Pods"], ["services", "Services"], ["events", "Events"], ["nodes", "Nodes"]];
const main = $("#main");
const namespaces = $("#namespace");
let route = {};
let detail = null;
let text = "";

/** `#/NAMESPACE/SECTION/NAME/PART`; an empty namespace is all of them. */
function read() {
  const [, namespace = "", section = "overview", name = "", part = ""] = location.hash.split("/").map(decodeURIComponent);
  const known = section in RESOURCES || SECTIONS.some(([id]) => id === section);
  return { namespace, section: known ? section : "overview", name, part };
}

function navigate() {
  const before = route;
  route = read();
  if (before.section !== route.section || before.name !== route.name) text = "";
  if (route.name && route.section in RESOURCES) {
    if (!detail || before.name !== route.name || before.section !== route.section || before.namespace !== route.namespace) {
      detail?.stop();
      detail = new Detail(route.section, route.namespace, route.name, route.part);
      show(main, detail.element);
    } else detail.tab = route.part || "summary";
  } else {
    detail?.stop();
    detail = null;
    drawSection();
  }
  render();
  if (before.section && (before.section !== route.section || before.name !== route.name)) main.scrollTop = 0;
}

const content = h("div.section-content");

function drawSection() {
  const title = SECTIONS.find(([id]) => id === route.section)?.[1] ?? RESOURCES[route.section].title;
  const filter = h("input.input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${title.toLowerCase()}`, value: text, oninput: () => {
    text = filter.value;
    render();
  } });
  show(main, h("div.row.section-head", {}, h("h1.grow", {}, title), route.section === "overview" ? null : filter), content);
}

function drawFrame() {
  const current = WORKLOADS.includes(route.section) ? "workloads" : route.section;
  const failing = list("pods", route.namespace).filter((pod) => podState(pod)[1] === "bad").length;
  const warnings = list("events", route.namespace).filter((event) => event.type === "Warning").length;
  const notes = { pods: failing, events: warnings };
  patch(
    $("#sections"),
    SECTIONS.map(([id, title]) => h("a", { href: `#/${route.namespace}/${id}`, "aria-current": id === current ? "page" : null }, h("span.grow", {}, title), notes[id] ? h("span.badge.bad", { title: id === "pods" ? "failing" : "warnings" }, notes[id]) : null)),
  );
  const live = $("#live");
  const state = isLive() ? "Live" : "Connecting…";
  if (live.textContent !== state) {
    live.textContent = state;
    live.className = isLive() ? "badge good" : "badge warn";
  }
  const names = ["", ...list("namespaces").map((namespace) => namespace.metadata.name)];
  if (route.namespace && !names.includes(route.namespace)) names.push(route.namespace);
  if ([...namespaces.options].map((option) => option.value).join() !== names.join()) patch(namespaces, names.map((name) => h("option", { value: name }, name || "All namespaces")));
  namespaces.value = route.namespace;
}

function render() {
  drawFrame();
  const { namespace, section } = route;
  if (detail) detail.render();
  else if (section === "overview") patch(content, overview(namespace));
  else if (section === "workloads") patch(content, workloads(namespace, text));
  else if (section === "events") patch(content, eventTable(namespace, text));
  else patch(content, resourceTable(section, namespace, text));
  document.title = `${route.name || SECTIONS.find(([id]) => id === route.section)?.[1] || "Cluster"} · Cluster`;
}

show($("#theme"), themeButton());
namespaces.addEventListener("change", () => {
  const section = SECTIONS.some(([id]) => id === route.section) ? route.section : "overview";
  location.hash = `#/${namespaces.value}/${section}`;
});
window.addEventListener("hashchange", navigate);
onChange(render);
onSort(render);
setInterval(render, 10_000);
navigate();
start();
