// The tables of each resource, and the overview.

import { age, count, h } from "./dom.js";
import { RESOURCES, isReady, list, podState, recent, restarts } from "./store.js";

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

function table(resource, objects, namespace) {
  const columns = COLUMNS[resource];
  const everywhere = !namespace && !RESOURCES[resource].global;
  return h(
    "div.card.scroll",
    { tabIndex: 0, role: "region", "aria-label": RESOURCES[resource].title },
    h(
      "table.plain",
      {},
      h("thead", {}, h("tr", {}, ["Name", ...columns.map(([title]) => title), everywhere && "Namespace", "Age"].filter(Boolean).map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        objects.map((object) =>
          h("tr", { "data-key": object.metadata.uid }, h("td.name", {}, link(resource, object)), columns.map(([title, content]) => h(title === "Images" ? "td.images" : "td", {}, content(object))), everywhere ? h("td", {}, object.metadata.namespace) : null, h("td", {}, created(object))),
        ),
      ),
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
          const { kind, name } = event.involvedObject ?? {};
          return h("tr", { "data-key": event.metadata.uid }, h("td.number", {}, age(event.lastTimestamp)), h("td", {}, badge([event.reason ?? "", event.type === "Warning" ? "bad" : "accent"])), h("td.name", {}, `${kind} ${name}`), h("td.message", {}, event.message), h("td.number", {}, event.count ?? 1));
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
