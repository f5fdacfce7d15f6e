// The objects of the cluster, live: each resource is listed once and then watched over a WebSocket.

import { prefix, request, socket } from "./api.js";

/** Resources by name: where they are, and how they are called. */
export const RESOURCES = {
  namespaces: { path: "/api/v1", title: "Namespaces", global: true },
  nodes: { path: "/api/v1", title: "Nodes", global: true },
  pods: { path: "/api/v1", title: "Pods" },
  services: { path: "/api/v1", title: "Services" },
  events: { path: "/api/v1", title: "Events" },
  replicationcontrollers: { path: "/api/v1", title: "Replication controllers" },
  deployments: { path: "/apis/extensions/v1beta1", title: "Deployments" },
  replicasets: { path: "/apis/extensions/v1beta1", title: "Replica sets" },
  daemonsets: { path: "/apis/extensions/v1beta1", title: "Daemon sets" },
  jobs: { path: "/apis/extensions/v1beta1", title: "Jobs" },
};

const objects = Object.fromEntries(Object.keys(RESOURCES).map((name) => [name, new Map()]));
const connected = new Set();
const listeners = new Set();
let scheduled = false;

function changed() {
  if (scheduled) return;
  scheduled = true;
  setTimeout(() => {
    scheduled = false;
    for (const listener of listeners) listener();
  }, 120);
}

export const onChange = (listener) => listeners.add(listener);
export const isLive = () => connected.size === Object.keys(RESOURCES).length;

const keyOf = (object) => `${object.metadata.namespace ?? ""}/${object.metadata.name}`;

/** The objects of a resource, in a namespace or in all, by name. */
export function list(resource, namespace = "") {
  const all = [...objects[resource].values()];
  return all
    .filter((object) => !namespace || RESOURCES[resource].global || object.metadata.namespace === namespace)
    .sort((a, b) => keyOf(a).localeCompare(keyOf(b)));
}

export const get = (resource, namespace, name) => objects[resource].get(`${RESOURCES[resource].global ? "" : namespace}/${name}`);

/** The path of an object. */
export function pathOf(resource, namespace, name, subresource = "") {
  const place = RESOURCES[resource].global ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${RESOURCES[resource].path}${place}/${resource}/${encodeURIComponent(name)}${subresource && `/${subresource}`}`;
}

/** Lists a resource and follows it for as long as the page is open. */
async function follow(resource) {
  const path = `${RESOURCES[resource].path}/${resource}`;
  for (let failures = 0; ; ) {
    try {
      const found = await request(prefix + path);
      objects[resource] = new Map((found.items ?? []).map((object) => [keyOf(object), object]));
      changed();
      let version = found.metadata.resourceVersion;
      for (let lasted = true; lasted; ) {
        const before = version;
        version = await watch(resource, `${path}?watch=true&resourceVersion=${version}`, version);
        lasted = version !== null && version !== before;
      }
      failures = 0;
    } catch {
      failures += 1;
    }
    connected.delete(resource);
    changed();
    await new Promise((done) => setTimeout(done, Math.min(10_000, 500 * 2 ** failures)));
  }
}

/** Watches until the connection ends; the version to go on from, or null where the list has to be read again. */
function watch(resource, path, version) {
  return new Promise((done) => {
    const watching = socket(path);
    watching.onopen = () => {
      connected.add(resource);
      changed();
    };
    watching.onmessage = ({ data }) => {
      const { type, object } = JSON.parse(data);
      if (type === "ERROR") {
        version = null;
        watching.close();
        return;
      }
      version = object.metadata.resourceVersion ?? version;
      if (type === "DELETED") objects[resource].delete(keyOf(object));
      else objects[resource].set(keyOf(object), object);
      changed();
    };
    watching.onclose = () => done(version);
  });
}

/** Follows everything. */
export function start() {
  for (const resource of Object.keys(RESOURCES)) follow(resource);
}

/** Whether a label selector (a map, or `matchLabels`) matches an object. */
export function selects(owner, object) {
  const selector = owner.spec?.selector?.matchLabels ?? owner.spec?.selector;
  const wanted = Object.entries(selector ?? {}).filter(([, value]) => typeof value === "string");
  return wanted.length > 0 && owner.metadata.namespace === object.metadata.namespace && wanted.every(([name, value]) => object.metadata.labels?.[name] === value);
}

/** The events of an object, the last first. */
export function eventsOf(object) {
  return recent(list("events").filter((event) => event.involvedObject?.uid === object.metadata.uid));
}

export const recent = (events) => events.sort((a, b) => (b.lastTimestamp ?? "").localeCompare(a.lastTimestamp ?? "") || Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion));

/** The state of a pod in a word, and how it is meant. */
export function podState(pod) {
  if (pod.metadata.deletionTimestamp) return ["Terminating", "warn"];
  for (const container of pod.status?.containerStatuses ?? []) {
    const { waiting, terminated } = container.state ?? {};
    if (waiting?.reason) return [waiting.reason, waiting.reason === "ContainerCreating" ? "warn" : "bad"];
    if (terminated && terminated.exitCode !== 0) return [terminated.reason ?? "Error", "bad"];
  }
  const phase = pod.status?.phase ?? "Unknown";
  if (phase === "Running" && !isReady(pod)) return ["Not ready", "warn"];
  return [phase, { Running: "good", Succeeded: "accent", Pending: "warn" }[phase] ?? "bad"];
}

export const isReady = (object) => (object.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
export const restarts = (pod) => (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
