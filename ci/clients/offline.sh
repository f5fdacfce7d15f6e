#!/usr/bin/env bash
# Runs kubectl and the Python client against a server, and prints the same output for equal servers, except ages.
# usage: offline.sh URL
# OFFLINE_SECRETS is the number of Secrets of 1 MB that are listed. Default: 4; 20 gives a list of 20 MB.
set -euo pipefail

mkdir -p "$HOME"
cat >"$HOME/config" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: plain, cluster: {server: "$1"}}]
contexts: [{name: plain, context: {cluster: plain}}]
current-context: plain
CONFIG
export KUBECONFIG=$HOME/config

k() {
  printf '$ kubectl %s\n' "$*"
  timeout 30 kubectl "$@" 2>&1 | sed -E 's/\b([0-9]+[smhd])+\b/AGE/g; s/ +$//; s/  +/  /g'
}

k apply -f - <<'JSON'
{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "tour"}}
JSON
k -n tour apply -f - <<'JSON'
{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "one", "labels": {"app": "web"}},
 "data": {"key": "value"}}
JSON
k -n tour apply -f - <<'JSON'
{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "one", "labels": {"app": "web"}},
 "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
JSON
k -n tour get pods,configmaps
k -n tour get pods -l app=web -o name
k -n tour describe configmap one
k -n tour patch configmap one --type merge -p '{"data": {"other": "value"}}'
k -n tour get configmap one -o 'jsonpath={.data}'
printf '\n'
k -n tour label pod one tier=front
k -n tour delete pod one --now

python3 - <<'PYTHON'
from kubernetes import client, config
config.load_kube_config()
core = client.CoreV1Api()
core.create_namespaced_config_map("tour", {"metadata": {"name": "two"}, "data": {"a": "1"}})
print([(item.metadata.name, item.data) for item in core.list_namespaced_config_map("tour").items])
core.patch_namespaced_config_map("two", "tour", {"data": {"b": "2"}})
print(core.read_namespaced_config_map("two", "tour").data)
core.delete_namespaced_config_map("two", "tour")
try:
    core.read_namespaced_config_map("two", "tour")
except client.ApiException as error:
    print(error.status, error.reason)
PYTHON
python3 - "${OFFLINE_SECRETS:-4}" <<'PYTHON'
import base64, sys
from kubernetes import client, config
config.load_kube_config()
core = client.CoreV1Api()
for n in range(int(sys.argv[1])):
    data = base64.b64encode((f"s3cret {n} " * 80_000)[:750_000].encode()).decode()
    secret = {"metadata": {"name": f"large-{n}"}, "data": {"file": data, "word": "cGFzc3dvcmQ="}}
    core.create_namespaced_secret("tour", secret)
secrets = core.list_namespaced_secret("tour").items
print([(secret.metadata.name, sorted(secret.data)) for secret in secrets if secret.metadata.name.startswith("large-")])
PYTHON
k -n tour get secrets
k -n tour get secret large-0 -o name
k -n tour delete configmap one
