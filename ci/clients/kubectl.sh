#!/usr/bin/env bash
# kubectl against the server of $KUBECONFIG: objects of each kind, and common commands. $SERVER is the listener without
# credentials.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# must WHAT TEXT COMMAND...: the command must print the text and succeed.
must() {
  local what=$1 text=$2 output
  shift 2
  if ! output=$(timeout 30 "$@" 2>&1) || ! grep -qF -- "$text" <<<"$output"; then
    printf 'FAILED %s: %s\n%s\n' "$what" "$*" "$output" >&2
    exit 1
  fi
  printf 'ok %s\n' "$what"
}

# watched TEXT COMMAND...: the command must print the text within 10 seconds. It is stopped then.
watched() {
  local text=$1 output command status=0
  shift
  exec {output}< <(exec timeout 10 "$@" 2>&1)
  command=$!
  grep -qFm1 -- "$text" <&"$output" || status=1
  kill "$command" 2>/dev/null || true
  exec {output}<&-
  return "$status"
}

space="kubectl-test-$$-$RANDOM"
cat >"$work/namespace.yaml" <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: $space}
YAML
cat >"$work/pods.yaml" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: $space, labels: {app: web}}
spec: {nodeName: kubectl-node, containers: [{name: main, image: nginx}]}
YAML
cat >"$work/services.yaml" <<YAML
apiVersion: v1
kind: Service
metadata: {name: one, namespace: $space}
# v1.2 replaces the list of ports: a field left out would be a change.
spec: {selector: {app: web}, ports: [{port: 80, protocol: TCP, targetPort: 80}]}
YAML
cat >"$work/replicationcontrollers.yaml" <<YAML
apiVersion: v1
kind: ReplicationController
metadata: {name: one, namespace: $space}
spec:
  replicas: 1
  selector: {app: web}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: nginx}]}}
YAML
cat >"$work/jobs.yaml" <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: one, namespace: $space}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}
YAML
cat >"$work/configmaps.yaml" <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: $space}
data: {key: value}
YAML

must 'create namespaces' created kubectl create -f "$work/namespace.yaml"
must 'get namespaces' "$space" kubectl get namespaces
must 'patch namespaces' patched kubectl patch namespace "$space" -p '{"metadata":{"labels":{"patched":"yes"}}}'
must 'read namespaces' yes kubectl get namespace "$space" -o 'jsonpath={.metadata.labels.patched}'

for kind in pods services replicationcontrollers jobs configmaps; do
  of=$kind
  [ $kind = jobs ] && of=jobs.v1.batch
  must "create $kind" created kubectl create -f "$work/$kind.yaml"
  must "read $kind" one kubectl get "$of" one -n "$space" -o 'jsonpath={.metadata.name}'
  must "list $kind" one kubectl get "$of" -n "$space"
  must "apply $kind" configured kubectl apply -f "$work/$kind.yaml"
  must "apply $kind again" unchanged kubectl apply -f "$work/$kind.yaml"
  must "patch $kind" patched kubectl patch "$of" one -n "$space" -p '{"metadata":{"labels":{"patched":"yes"}}}'
  must "label $kind" labeled kubectl label "$of" one -n "$space" labelled=yes
  must "describe $kind" one kubectl describe "$of" one -n "$space"
  watched one kubectl get "$of" -n "$space" -w || { echo "FAILED watch $kind" >&2; exit 1; }
  echo "ok watch $kind"
done

must 'refuse unknown fields' 'unknown field "spec.containers[0].imgae"' \
  bash -c "sed 's/image/imgae/; s/name: one/name: two/' '$work/pods.yaml' | kubectl create -f - || true"
must 'explain' 'Containers of the pod.' kubectl explain pod.spec
must 'explain a field' 'Image to run.' kubectl explain pod.spec.containers.image
must 'create configmap, in protobuf' created kubectl create configmap two -n "$space" --from-literal=key=value
must 'read it' value kubectl get configmap two -n "$space" -o 'jsonpath={.data.key}'
must 'create secret, in protobuf' created kubectl create secret generic two -n "$space" --from-literal=key=value
must 'run, in protobuf' created kubectl run two -n "$space" --image=nginx --restart=Never -- date
must 'read its command' date kubectl get pod two -n "$space" -o 'jsonpath={.spec.containers[0].args[0]}'
must 'create service, in protobuf' created kubectl create service clusterip two -n "$space" --tcp=80:8080
must 'list in chunks' two kubectl get configmaps -n "$space" --chunk-size=1
must 'ask what is allowed' yes kubectl auth can-i delete pods -n "$space"
must 'readyz' ok kubectl get --raw /readyz
must 'cluster-info' 'is running at' kubectl cluster-info
must 'scale' scaled kubectl scale rc one -n "$space" --replicas=2
must 'version' v1.2 kubectl version

# Streams of a running pod.
curl -sf -o "$work/answer" -H 'Content-Type: application/json' "$SERVER/api/v1/nodes" \
  -d '{"metadata":{"name":"kubectl-node"}}' || true
status='{"metadata":{"name":"one","namespace":"'$space'"},"status":{"phase":"Running","podIP":"127.0.0.1"}}'
set_status="import json,sys; pod=json.load(sys.stdin); pod['status']=json.loads('$status')['status']"
set_status+="; print(json.dumps(pod))"
curl -sf -o "$work/answer" -X PUT -H 'Content-Type: application/json' \
  "$SERVER/api/v1/namespaces/$space/pods/one/status" \
  -d "$(kubectl get pod one -n "$space" -o json | python3 -c "$set_status")"
sleep 1.1
must 'logs' 'tick 1' kubectl logs one -n "$space"
watched 'tick 2' kubectl logs -f one -n "$space" || { echo 'FAILED logs -f' >&2; exit 1; }
echo 'ok logs -f'
for websockets in true false; do
  export KUBECTL_REMOTE_COMMAND_WEBSOCKETS=$websockets KUBECTL_PORT_FORWARD_WEBSOCKETS=$websockets
  must "exec (WebSocket: $websockets)" 'hello there' kubectl exec one -n "$space" -- echo hello there
  must "exec with input (WebSocket: $websockets)" 'to cat' \
    bash -c "echo to cat | kubectl exec -i one -n '$space' -- cat"
  watched 'to the container' bash -c "(echo to the container; sleep 3) | kubectl attach -i one -n '$space'" ||
    { echo "FAILED attach" >&2; exit 1; }
  echo "ok attach (WebSocket: $websockets)"
done

for kind in pods services replicationcontrollers jobs.v1.batch configmaps; do
  extra=()
  [ $kind = pods ] && extra=(--force --grace-period=0)
  # Orphan: no controller runs that would delete dependents.
  must "delete $kind" deleted kubectl delete "$kind" one -n "$space" --cascade=orphan --wait=false "${extra[@]}"
done
must 'delete namespaces' deleted kubectl delete namespace "$space" --wait=false
