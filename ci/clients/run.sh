#!/usr/bin/env bash
# Runs real clients against the simulator, over both listeners. usage: run.sh [CLIENT...]; default: all that are
# installed.
# kubectl, python, node and java (fabric8) create, read, list, watch, change and delete objects. go runs informers.
# elasticsearch (Python), elasticsearch-js and rsyslog ship 10,000 lines to the log search backend of a full cluster and
# find them.
# offline runs kubectl and python once through the recorder and once against the replay.
# browser clicks through the log viewer and the user interface of a full cluster in headless Chromium; its screenshots
# go to target/browser.
# With STUNTDOUBLE_ELASTICSEARCH=URL, the log trials of the conformance suite and the log tools also run against the
# Elasticsearch at that URL, behind the service of a full cluster; STUNTDOUBLE_SEARCH_UPSTREAM_USER has its credentials.
# They write indices there. `elasticsearch.sh run.sh` starts a real one for the run, if install.sh could install it.
# Clients that are not installed are skipped, with a message; install.sh installs them. Exit status: 0 if all that ran
# succeeded.
set -euo pipefail
cd "$(dirname "$0")"

stuntdouble=${STUNTDOUBLE:-../../target/debug/stuntdouble}
clients=$(cd ../.. && pwd)/target/clients
export NODE_PATH="$clients/node_modules${NODE_PATH:+:$NODE_PATH}"
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

# serve NAME ARGUMENTS...: starts a server and waits for its ready line.
serve() {
  local name=$1
  shift
  "$stuntdouble" "$@" >"$work/$name" &
  pids+=($!)
  for _ in $(seq 200); do
    grep -q '^ready: ' "$work/$name" && return 0
    sleep 0.05
  done
  echo "$name did not start" >&2
  return 1
}

echo 'secrettoken,admin,1' >"$work/tokens"
echo 'secretpass,admin,1' >"$work/passwords"
serve server serve --bare --listen 127.0.0.1:0 --secure-listen 127.0.0.1:0 \
  --token-file "$work/tokens" --basic-file "$work/passwords" --write-kubeconfig "$work/secure"
insecure=$(sed 's/^ready: \([^ ]*\).*/\1/' "$work/server")
cat >"$work/insecure" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: plain, cluster: {server: "$insecure", insecure-skip-tls-verify: true}}]
contexts: [{name: plain, context: {cluster: plain}}]
current-context: plain
CONFIG

failed=()
skipped=()
client() {
  local name=$1 installed=$2
  shift 2
  if ! eval "$installed" >/dev/null 2>&1; then
    skipped+=("$name")
    return
  fi
  for listener in insecure secure; do
    printf '== %s over the %s listener\n' "$name" "$listener"
    KUBECONFIG="$work/$listener" SERVER="$insecure" HOME="$work" "$@" || failed+=("$name over the $listener listener")
  done
}

for name in "${@:-all}"; do
  case $name in all | kubectl) client kubectl 'command -v kubectl' ./kubectl.sh ;; esac
  case $name in all | python)
    client python 'PYTHONPATH=$clients/python python3 -c "import kubernetes"' \
      env PYTHONPATH="$clients/python" python3 ./client.py ;;
  esac
  case $name in all | node) client node 'node -e "require(\"@kubernetes/client-node\")"' node ./client.cjs ;; esac
  case $name in all | go) client go 'test -x "$clients/go/informers"' "$clients/go/informers" ;; esac
  case $name in all | java)
    client java 'test -f "$clients/java/classes/Client.class"' \
      java -cp "$clients/java/jars/*:$clients/java/classes" Client ;;
  esac
done

# log_tool NAME INSTALLED COMMAND...: runs a log tool against the search backend of a full cluster, through the service
# proxy; with STUNTDOUBLE_ELASTICSEARCH also against that Elasticsearch, behind the same service.
log_tool() {
  local name=$1 installed=$2
  shift 2
  if ! eval "$installed" >/dev/null 2>&1; then
    skipped+=("$name")
    return
  fi
  through_proxy living "$name" "$@"
  [ -z "${STUNTDOUBLE_ELASTICSEARCH:-}" ] || through_proxy real "$name" "$@"
}

# through_proxy BACKEND NAME COMMAND...: runs a command with the URL of the search service of a cluster with that
# backend.
through_proxy() {
  local backend=$1 name=$2 server
  shift 2
  server=$(cluster_of "$backend")
  printf '== %s through the service proxy (%s search backend)\n' "$name" "$backend"
  "$@" "$server/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging" ||
    failed+=("$name ($backend search backend)")
}

# cluster_of BACKEND: prints the URL of the cluster whose search service has that backend.
cluster_of() { sed 's/^ready: \([^ ]*\).*/\1/' "$work/$1"; }

case ${*:-all} in all | *elasticsearch* | *rsyslog*)
  serve living serve --listen 127.0.0.1:0
  if [ -n "${STUNTDOUBLE_ELASTICSEARCH:-}" ]; then
    serve real serve --search-upstream "$STUNTDOUBLE_ELASTICSEARCH" --listen 127.0.0.1:0
    printf '== the log trials (real search backend)\n'
    timeout 600 "$stuntdouble" conformance --seed-logs --target "$(cluster_of real)" search logging ||
      failed+=("log trials (real search backend)")
  else
    skipped+=("log trials and log tools on a real Elasticsearch (none is installed; STUNTDOUBLE_ELASTICSEARCH is not set)")
  fi ;;
esac

for name in "${@:-all}"; do
  case $name in all | elasticsearch)
    is_installed='python3 -c "import elasticsearch; assert elasticsearch.__version__ < (3,)"'
    log_tool elasticsearch "PYTHONPATH=\$clients/elasticsearch $is_installed" \
      env PYTHONPATH="$clients/elasticsearch" python3 ./elasticsearch_client.py ;;
  esac
  case $name in all | elasticsearch-js)
    log_tool elasticsearch-js 'test -d "$clients/elasticsearch-js/node_modules/elasticsearch"' \
      env NODE_PATH="$clients/elasticsearch-js/node_modules" node ./elasticsearch_client.cjs ;;
  esac
  case $name in all | rsyslog)
    log_tool rsyslog 'command -v rsyslogd python3 && ls /usr/lib/*/rsyslog/omelasticsearch.so' \
      python3 ./rsyslog.py ;;
  esac
done

case ${*:-all} in all | *browser*)
  if command -v chromium >/dev/null && [ -d "$clients/browser/node_modules" ]; then
    serve pages serve --listen 127.0.0.1:0
    printf '== the pages of the add-ons in Chromium\n'
    NODE_PATH=$clients/browser/node_modules CHROMIUM=$(command -v chromium) \
      node ./browser.cjs "$(cluster_of pages)" ../../target/browser || failed+=("browser")
  else
    skipped+=("browser")
  fi ;;
esac

case ${*:-all} in all | *offline*)
  if command -v kubectl >/dev/null && PYTHONPATH=$clients/python python3 -c 'import kubernetes' >/dev/null 2>&1; then
    printf '== kubectl and python offline, against the replay of their session\n'
    serve recorded serve --bare --listen 127.0.0.1:0
    serve recorder record --upstream "$(cluster_of recorded)" --listen 127.0.0.1:0 --output "$work/session.yaml"
    recorder=${pids[-1]}
    tour() {
      PYTHONPATH=$clients/python HOME="$work/home-$1" ./offline.sh "$(cluster_of "$1")" >"$work/output-$1" 2>&1
    }
    tour recorder || failed+=("offline: the session through the recorder")
    kill "$recorder" && wait "$recorder" || true
    serve replayed replay "$work/session.yaml" --listen 127.0.0.1:0 --speed instant
    tour replayed || failed+=("offline: the session against the replay")
    if diff "$work/output-recorder" "$work/output-replayed"; then
      printf 'ok the same %s lines\n' "$(wc -l <"$work/output-replayed")"
    else
      failed+=("offline: the outputs differ")
    fi
  else
    skipped+=("offline")
  fi ;;
esac

for name in "${skipped[@]}"; do
  case $name in *'('*) printf 'skipped: %s\n' "$name" ;; *) printf 'skipped: %s (not installed)\n' "$name" ;; esac
done
for name in "${failed[@]}"; do printf 'failed: %s\n' "$name"; done
[ ${#failed[@]} -eq 0 ]
