#!/usr/bin/env node
// The JavaScript client (@kubernetes/client-node, from npm) against the server of $KUBECONFIG: creates and deletes
// objects of each kind.
const assert = require("node:assert");

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "nginx" }] } };
const kinds = [
  ["Pod", "core", { spec: template.spec }],
  ["Service", "core", { spec: { ports: [{ port: 80 }] } }],
  ["ReplicationController", "core", { spec: { replicas: 1, selector: { app: "web" }, template } }],
  ["Job", "batch", { spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } } }],
  ["ConfigMap", "core", { data: { key: "value" } }],
];

async function main() {
  const k8s = await import("@kubernetes/client-node").catch(() => require("@kubernetes/client-node"));
  const config = new k8s.KubeConfig();
  config.loadFromDefault();
  const apis = { core: config.makeApiClient(k8s.CoreV1Api), batch: config.makeApiClient(k8s.BatchV1Api) };
  const namespace = `node-${Date.now()}`;
  const patch = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.StrategicMergePatch);
  assert.equal((await apis.core.createNamespace({ body: { metadata: { name: namespace } } })).metadata.name, namespace);
  assert((await apis.core.listNamespace()).items.some((item) => item.metadata.name === namespace));
  for (const [kind, group, fields] of kinds) {
    const api = apis[group];
    const [name, version] = ["one", group === "core" ? "v1" : "batch/v1"];
    const body = { apiVersion: version, kind, metadata: { name }, ...fields };
    const path = `${group === "core" ? "/api/v1" : "/apis/batch/v1"}/namespaces/${namespace}/${kind.toLowerCase()}s`;
    const seen = [];
    let ended;
    const end = new Promise((resolve) => (ended = resolve));
    const watch = await new k8s.Watch(config).watch(
      path,
      {},
      (type) => {
        seen.push(type);
        if (type === "DELETED") ended();
      },
      ended,
    );
    assert((await api[`createNamespaced${kind}`]({ namespace, body })).metadata.uid);
    assert.equal((await api[`readNamespaced${kind}`]({ namespace, name })).metadata.name, name);
    const { items } = await api[`listNamespaced${kind}`]({ namespace });
    assert.deepEqual(
      items.map((item) => item.metadata.name),
      [name],
    );
    const labels = { metadata: { labels: { patched: "yes" } } };
    const labelled = await api[`patchNamespaced${kind}`]({ namespace, name, body: labels }, patch);
    assert.equal(labelled.metadata.labels.patched, "yes");
    labelled.metadata.labels.replaced = "yes";
    const replaced = await api[`replaceNamespaced${kind}`]({ namespace, name, body: labelled });
    assert.equal(replaced.metadata.labels.replaced, "yes");
    await api[`deleteNamespaced${kind}`]({ namespace, name, gracePeriodSeconds: 0, body: { gracePeriodSeconds: 0 } });
    const timeout = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`watch of ${kind}: ${seen}`)), 20000).unref();
    });
    await Promise.race([end, timeout]);
    watch.abort();
    assert(seen.includes("ADDED") && seen.includes("MODIFIED") && seen.includes("DELETED"), `${kind}: ${seen}`);
    await assert.rejects(api[`readNamespaced${kind}`]({ namespace, name }), (error) => error.code === 404);
    console.log("ok", kind);
  }
  await apis.core.deleteNamespace({ name: namespace });
  console.log("ok Namespace");
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
