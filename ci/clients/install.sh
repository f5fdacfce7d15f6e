#!/usr/bin/env bash
# Installs the clients that run.sh runs, as far as this machine allows: kubectl, chromium, rsyslog and etcd from Debian
# packages (as root, with CI=true), the others into target/clients.
# A failure here does not fail the checks: run.sh skips clients that are not installed, with a message.
set -uo pipefail
cd "$(dirname "$0")/../.."

into=$PWD/target/clients
mkdir -p "$into"

# attempt WHAT COMMAND...: runs a command for at most four minutes, and prints its output only if it fails.
attempt() {
  local what=$1 output
  shift
  if output=$(timeout 240 "$@" 2>&1 </dev/null); then
    printf 'installed: %s\n' "$what"
  else
    printf 'not installed: %s (%s)\n' "$what" "$(tail -n 1 <<<"$output")"
  fi
}

# debian PROGRAM NAME PACKAGE...: installs Debian packages in CI, unless the program is installed.
debian() {
  local program=$1 name=$2
  shift 2
  if ! command -v "$program" >/dev/null && [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] &&
    command -v apt-get >/dev/null; then
    attempt "$name" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh "$@"
  fi
}
debian kubectl kubectl kubernetes-client
debian chromium chromium chromium fonts-dejavu-core
debian etcd etcd etcd-server
debian rsyslogd rsyslog rsyslog rsyslog-elasticsearch

# python NAME REQUIREMENT...: installs Python packages into a folder of their own.
python() {
  local name=$1
  shift
  [ -d "$into/$name" ] && return
  command -v python3 >/dev/null && attempt "$name" python3 -m pip install --quiet --target "$into/$name" "$@"
}
python python kubernetes pyyaml
python elasticsearch 'elasticsearch==2.4.1'

if [ ! -d "$into/node_modules" ] && command -v npm >/dev/null; then
  attempt node npm install --silent --no-audit --no-fund --prefix "$into" '@kubernetes/client-node@1.4.0'
fi

if [ ! -d "$into/elasticsearch-js/node_modules" ] && command -v npm >/dev/null; then
  attempt elasticsearch-js npm install --silent --no-audit --no-fund --prefix "$into/elasticsearch-js" \
    'elasticsearch@10.1.3'
fi

if [ ! -d "$into/browser/node_modules" ] && command -v npm >/dev/null; then
  attempt browser npm install --silent --no-audit --no-fund --prefix "$into/browser" 'playwright-core@1' 'axe-core@4'
fi

if [ ! -x "$into/go/informers" ] && command -v go >/dev/null; then
  attempt go env -C ci/clients/go go build -o "$into/go/informers" .
fi

# Maven fetches the jars, javac compiles the class: no build folder beside the source.
if [ ! -f "$into/java/classes/Client.class" ] && command -v mvn >/dev/null && command -v javac >/dev/null; then
  attempt java sh -c "mvn -q -B -f ci/clients/java/pom.xml dependency:copy-dependencies \
      '-DoutputDirectory=$into/java/jars' &&
    javac -d '$into/java/classes' -cp '$into/java/jars/*' ci/clients/java/Client.java"
fi

# A real Elasticsearch of the time, made to start on a Java of today.
if [ ! -d "$into/elasticsearch-1.5.2/patch" ] && command -v mvn >/dev/null && command -v javac >/dev/null; then
  attempt 'Elasticsearch 1.5.2' sh -c "cd '$PWD/ci/clients/elasticsearch' &&
    mvn -q -B dependency:copy-dependencies '-DoutputDirectory=$into/elasticsearch-1.5.2/jars' &&
    javac -d '$into/elasticsearch-1.5.2/classes' -cp '$into/elasticsearch-1.5.2/jars/*' Patch.java &&
    java -cp '$into/elasticsearch-1.5.2/classes:$into/elasticsearch-1.5.2/jars/*' Patch \
      '$into/elasticsearch-1.5.2/jars/elasticsearch-1.5.2.jar' '$into/elasticsearch-1.5.2/patch'"
fi
exit 0
