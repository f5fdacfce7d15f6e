#!/usr/bin/env python3
"""The Python client (kubernetes, from PyPI) against the server of $KUBECONFIG: objects of each kind."""
import threading
import time

import yaml
from kubernetes import client, config, dynamic, watch

config.load_kube_config()
core, batch = client.CoreV1Api(), client.BatchV1Api()
namespace = "python-%d" % time.time_ns()

CONTAINERS = [{"name": "main", "image": "nginx"}]
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
KINDS = [
    ("pod", core, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": POD["spec"]}),
    ("service", core, {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}}),
    ("replication_controller", core, {
        "apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "one"},
        "spec": {"replicas": 1, "selector": {"app": "web"}, "template": {**POD, "spec": {"containers": CONTAINERS}}}}),
    ("job", batch, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": {"template": POD}}),
    ("config_map", core, {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"key": "value"}}),
]


def exercise(kind, api, body):
    call = lambda verb, *arguments: getattr(api, f"{verb}_namespaced_{kind}")(*arguments)
    seen, began = [], threading.Event()

    def follow():
        stream = watch.Watch().stream(getattr(api, f"list_namespaced_{kind}"), namespace, timeout_seconds=20)
        began.set()
        for event in stream:
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                return

    thread = threading.Thread(target=follow)
    thread.start()
    began.wait(5)
    assert call("create", namespace, body).metadata.uid
    assert call("read", "one", namespace).metadata.name == "one"
    assert [item.metadata.name for item in call("list", namespace).items] == ["one"]
    patched = call("patch", "one", namespace, {"metadata": {"labels": {"patched": "yes"}}})
    assert patched.metadata.labels["patched"] == "yes"
    replaced = call("read", "one", namespace)
    replaced.metadata.labels["replaced"] = "yes"
    assert call("replace", "one", namespace, replaced).metadata.labels["replaced"] == "yes"
    # Not decoded: the response is a Status, which this client would read as the object.
    options = client.V1DeleteOptions(grace_period_seconds=0)
    getattr(api, f"delete_namespaced_{kind}")("one", namespace, body=options, _preload_content=False)
    thread.join(25)
    assert ("ADDED", "one") in seen and ("MODIFIED", "one") in seen and ("DELETED", "one") in seen, seen
    try:
        call("read", "one", namespace)
        raise AssertionError("the deleted object still exists")
    except client.ApiException as gone:
        assert gone.status == 404 and yaml.safe_load(gone.body)["reason"] == "NotFound", gone
    print("ok", kind)


assert core.create_namespace({"metadata": {"name": namespace}}).metadata.name == namespace
assert namespace in [item.metadata.name for item in core.list_namespace().items]
assert core.patch_namespace(namespace, {"metadata": {"labels": {"patched": "yes"}}}).metadata.labels["patched"] == "yes"
for kind, api, body in KINDS:
    exercise(kind, api, body)
discovered = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
assert discovered.name == "configmaps", discovered
print("ok discovery")
assert core.delete_namespace(namespace, _preload_content=False).status == 200
print("ok namespace")
