// The tables of each resource, and the overview.

import { age, count, h } from "./dom.js";
import { RESOURCES, get, isReady, list, podState, recent, restarts } from "./store.js";

export const WORKLOADS = ["deployments", "replicasets", "replicationcontrollers", "daemonsets", "jobs"];

export const badge = ([text, kind]) => h(`span.badge.${kind}`, {}, text);
export const link = (resource, object) => h("a", { href: `#/${object.metadata.namespace ?? ""}/${resource}/${object.metadata.name}` }, object.metadata.name);

const created = (object) => h("time.number", { dateTime: object.metadata.creationTimestamp, title: object.metadata.creationTimestamp }, age(object.metadata.creationTimestamp));
const images = (spec) => (spec?.containers ?? []).map(({ image }) => image).join(", ");
const progress = (have, want) => badge([`${have} / ${want}`, have >= want ? "good" : "warn"]);
const replicas = (object) => progress(object.status?.readyReplicas ?? object.status?.availableReplicas ?? object.status?.replicas ?? 0, object.spec?.replicas ?? 1);

/** The columns of each resource: title, content. */
const COLUMNS = {
  pods: [
    ["Status", (pod) => badge(podState(pod))],
    ["Restarts", (pod) => restarts(pod)],
    ["Node", (pod) => pod.spec.nodeName ?? ""],
    ["Address", (pod) => h("span.mono", {}, pod.status?.podIP ?? "")],
  ],
  deployments: [["Replicas", (object) => progress(object.status?.availableReplicas ?? 0, object.spec.replicas ?? 1)], ["Images", (object) => images(object.spec.template?.spec)]],
  replicasets: [["Replicas", replicas], ["Images", (object) => images(object.spec.template?.spec)]],
  replicationcontrollers: [["Replicas", replicas], ["Images", (object) => images(object.spec.template?.spec)]],
  daemonsets: [["Pods", (object) => progress(object.status?.currentNumberScheduled ?? 0, object.status?.desiredNumberScheduled ?? 0)], ["Images", (object) => images(object.spec.template?.spec)]],
  jobs: [["Completions", (job) => progress(job.status?.succeeded ?? 0, job.spec.completions ?? 1)], ["Images", (job) => images(job.spec.template?.spec)]],
  services: [
    ["Type", (service) => service.spec.type],
    ["Address", (service) => h("span.mono", {}, service.spec.clusterIP ?? "")],
    ["Ports", (service) => h("span.mono", {}, (service.spec.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`).join(", "))],
  ],
  nodes: [
    ["Status", (node) => badge(isReady(node) ? ["Ready", "good"] : ["Not ready", "bad"])],
    ["Scheduling", (node) => (node.spec.unschedulable ? badge(["Disabled", "warn"]) : "Enabled")],
    ["Pods", (node) => `${list("pods").filter((pod) => pod.spec.nodeName === node.metadata.name).length} / ${node.status?.capacity?.pods ?? "?"}`],
    ["Kubelet", (node) => node.status?.nodeInfo?.kubeletVersion ?? ""],
    ["Address", (node) => h("span.mono", {}, node.status?.addresses?.[0]?.address ?? "")],
  ],
};

/** The column that each table is sorted by, and whether it goes down. At first they are by namespace and name. */
const orders = new Map();
let sorted = () => {};

/** Calls `listener` when a person has sorted a table. */
export const onSort = (listener) => {
  sorted = listener;
};

/** What a cell is sorted by. The ages of one table are those of one moment, so that equal ones stay in the order of their names. */
function valueOf(content, object, now) {
  const made = content(object);
  if (content === created) return String(now - new Date(made.dateTime));
  return made instanceof Node ? made.textContent : String(made ?? "");
}

function heads(resource, columns) {
  const [current, isDown] = orders.get(resource) ?? [];
  return columns.map(([title]) => {
    const order = title === current ? (isDown ? "descending" : "ascending") : null;
    const turn = () => {
      orders.set(resource, [title, title === current && !isDown]);
      sorted();
    };
    return h("th", { scope: "col", "aria-sort": order }, h("button.sort", { type: "button", onclick: turn }, title, h("span.order", { "aria-hidden": "true" }, order ? (isDown ? "↓" : "↑") : "")));
  });
}

function inOrder(resource, columns, objects) {
  const [current, isDown] = orders.get(resource) ?? [];
  const content = columns.find(([title]) => title === current)?.[1];
  if (!content) return objects;
  const now = Date.now();
  const keyed = objects.map((object) => [valueOf(content, object, now), object]);
  keyed.sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }) * (isDown ? -1 : 1));
  return keyed.map(([, object]) => object);
}

function table(resource, objects, namespace) {
  const everywhere = !namespace && !RESOURCES[resource].global;
  const columns = [["Name", (object) => link(resource, object)], ...COLUMNS[resource], everywhere && ["Namespace", (object) => object.metadata.namespace], ["Age", created]].filter(Boolean);
  const kinds = { Name: "td.name", Images: "td.images" };
  return h(
    "div.card.scroll",
    { tabIndex: 0, role: "region", "aria-label": RESOURCES[resource].title },
    h(
      "table.plain",
      {},
      h("thead", {}, h("tr", {}, heads(resource, columns))),
      h("tbody", {}, inOrder(resource, columns, objects).map((object) => h("tr", { "data-key": object.metadata.uid }, columns.map(([title, content]) => h(kinds[title] ?? "td", {}, content(object)))))),
    ),
  );
}

const matches = (object, text) => JSON.stringify([object.metadata.name, object.metadata.namespace, object.metadata.labels, object.spec?.nodeName]).toLowerCase().includes(text.toLowerCase());

/** The table of a resource, of objects that match a text. */
export function resourceTable(resource, namespace, text) {
  const objects = list(resource, namespace).filter((object) => matches(object, text));
  if (!objects.length) return h("div.card.empty", {}, h("h2", {}, text ? "Nothing matches" : `No ${RESOURCES[resource].title.toLowerCase()}`), h("p", {}, namespace ? `In the namespace ${namespace}.` : "In any namespace."));
  return table(resource, objects, namespace);
}

/** All workloads, by resource. */
export function workloads(namespace, text) {
  const parts = WORKLOADS.map((resource) => [resource, list(resource, namespace).filter((object) => matches(object, text))]).filter(([, objects]) => objects.length);
  if (!parts.length) return h("div.card.empty", {}, h("h2", {}, text ? "Nothing matches" : "No workloads"), h("p", {}, "Deployments, replica sets, replication controllers, daemon sets and jobs are shown here."));
  return parts.map(([resource, objects]) => h("section", { "data-key": resource }, h("h2.part", {}, RESOURCES[resource].title, " ", h("span.badge", {}, objects.length)), table(resource, objects, namespace)));
}

/** A link to the object of a reference, if it is one that is shown and there. */
export function reference({ kind, namespace, name } = {}) {
  const resource = `${kind ?? ""}s`.toLowerCase();
  const object = resource in RESOURCES && get(resource, namespace, name);
  return object ? link(resource, object) : name;
}

/** Events, the last first. */
export function events(found) {
  if (!found.length) return h("div.card.empty", {}, h("h2", {}, "No events"));
  return h(
    "div.card.scroll",
    { tabIndex: 0, role: "region", "aria-label": "Events" },
    h(
      "table.plain.events",
      {},
      h("thead", {}, h("tr", {}, ["Last seen", "Reason", "Object", "Message", "Count"].map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        found.slice(0, 300).map((event) => {
          return h("tr", { "data-key": event.metadata.uid }, h("td.number", {}, age(event.lastTimestamp)), h("td", {}, badge([event.reason ?? "", event.type === "Warning" ? "bad" : "accent"])), h("td.name", {}, h("span.kind", {}, event.involvedObject?.kind), " ", reference(event.involvedObject)), h("td.message", {}, event.message), h("td.number", {}, event.count ?? 1));
        }),
      ),
    ),
  );
}

export const eventTable = (namespace, text) => events(recent(list("events", namespace).filter((event) => `${event.reason} ${event.message} ${event.involvedObject?.name}`.toLowerCase().includes(text.toLowerCase()))));

/** The state of the cluster at a glance. */
export function overview(namespace) {
  const [pods, nodes] = [list("pods", namespace), list("nodes")];
  const states = pods.map((pod) => podState(pod)[1]);
  const number = (kind) => states.filter((state) => state === kind).length;
  const ready = nodes.filter(isReady).length;
  const owners = WORKLOADS.flatMap((resource) => list(resource, namespace));
  const card = (href, title, value, note, kind) => h(`a.card.tile${kind ? `.${kind}` : ""}`, { href }, h("span.soft", {}, title), h("b.number", {}, value), h("span.soft", {}, note));
  const bar = h(
    "div.health",
    { role: "img", "aria-label": `Pods: ${number("good")} running, ${number("warn")} waiting, ${number("bad")} failing, ${number("accent")} done` },
    ["good", "accent", "warn", "bad"].filter(number).map((kind) => h(`div.${kind}`, { style: { flexGrow: number(kind) } })),
  );
  const place = `#/${namespace}`;
  return [
    h(
      "div.tiles",
      {},
      card(`${place}/pods`, "Pods", count(pods.length), `${number("good")} running · ${number("warn")} waiting · ${number("bad")} failing`, number("bad") ? "bad" : null),
      card(`${place}/workloads`, "Workloads", count(owners.length), `deployments ${list("deployments", namespace).length} · jobs ${list("jobs", namespace).length}`),
      card(`${place}/services`, "Services", count(list("services", namespace).length), "reached through the proxy"),
      card(`${place}/nodes`, "Nodes", count(nodes.length), `${ready} ready`, ready < nodes.length ? "bad" : null),
    ),
    pods.length ? bar : null,
    h("h2.part", {}, "Latest events"),
    events(recent(list("events", namespace)).slice(0, 12)),
  ];
}
