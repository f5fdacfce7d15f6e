#!/usr/bin/env bash
# Runs a command while a real Elasticsearch 1.5.2 of two nodes runs on loopback ports, with its URL in
# STUNTDOUBLE_ELASTICSEARCH. usage: elasticsearch.sh COMMAND [ARGUMENT...]
# Where Elasticsearch is not installed (install.sh installs it if there are Maven and Java), or where the variable
# already names one, the command runs as it is. The nodes and their data are gone when the command ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

home=$PWD/target/clients/elasticsearch-1.5.2
has() { command -v "$1" >/dev/null; }
if [ -n "${STUNTDOUBLE_ELASTICSEARCH:-}" ] || [ ! -d "$home/patch" ] || ! has java || ! has python3 || ! has curl; then
  exec "$@"
fi

work=$(mktemp -d)
pids=()
finish() {
  kill "${pids[@]}" 2>/dev/null || true
  # A node whose shards do not start does not end by itself.
  for _ in {1..50}; do
    kill -0 "${pids[@]}" 2>/dev/null || break
    sleep 0.2
  done
  kill -9 "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# The ports are free now. A node that finds one taken ends, and the command runs without Elasticsearch.
read -r -a ports < <(python3 - <<'PYTHON'
import socket

sockets = [socket.socket() for _ in range(4)]
for own in sockets:
    own.bind(("127.0.0.1", 0))
print(*(own.getsockname()[1] for own in sockets))
PYTHON
)

# node NUMBER HTTP_PORT TRANSPORT_PORT: starts a node. It allocates shards however full the disk is.
node() {
  mkdir -p "$work/$1/config"
  cat >"$work/$1/config/elasticsearch.yml" <<CONFIG
cluster.name: kubernetes-logging
node.name: elasticsearch-logging-v1-$1
network.host: 127.0.0.1
http.port: $2
transport.tcp.port: $3
cluster.routing.allocation.disk.threshold_enabled: false
discovery.zen.ping.multicast.enabled: false
discovery.zen.ping.unicast.hosts: ["127.0.0.1:${ports[1]}", "127.0.0.1:${ports[3]}"]
CONFIG
  java -Xms512m -Xmx512m --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
    --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
    -Djava.net.preferIPv4Stack=true "-Des.path.home=$work/$1" -Des.foreground=yes \
    -cp "$home/patch:$home/jars/*" org.elasticsearch.bootstrap.Elasticsearch >"$work/$1/log" 2>&1 &
  pids+=($!)
}
node 0 "${ports[0]}" "${ports[1]}"
node 1 "${ports[2]}" "${ports[3]}"

url=http://127.0.0.1:${ports[0]}
for _ in $(seq 240); do
  if curl -sf --max-time 5 "$url/_cluster/health?wait_for_nodes=2&timeout=4s" 2>/dev/null | grep -q '"timed_out":false'; then
    export STUNTDOUBLE_ELASTICSEARCH=$url
    break
  fi
  kill -0 "${pids[@]}" 2>/dev/null || break
  sleep 0.5
done
if [ -z "${STUNTDOUBLE_ELASTICSEARCH:-}" ]; then
  echo "Elasticsearch 1.5.2 did not start:" >&2
  tail -n 5 "$work"/?/log >&2
fi
status=0
"$@" || status=$?
exit "$status"
