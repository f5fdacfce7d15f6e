#!/usr/bin/env bash
# Installs the clients that run.sh plays, as far as this machine can: kubectl from Debian's packages (as root, with CI=true), the others into target/clients.
# Nothing here fails the checks: what cannot be installed is skipped by run.sh, by name.
set -uo pipefail
cd "$(dirname "$0")/../.."

into=$PWD/target/clients
mkdir -p "$into"

# attempt WHAT COMMAND...: at most four minutes, and quiet unless it fails.
attempt() {
  local what=$1 said
  shift
  if said=$(timeout 240 "$@" 2>&1 </dev/null); then
    printf 'installed: %s\n' "$what"
  else
    printf 'not installed: %s (%s)\n' "$what" "$(tail -n 1 <<<"$said")"
  fi
}

if ! command -v kubectl >/dev/null && [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  attempt kubectl sh -c 'apt-get update -qq && apt-get install -y -qq kubernetes-client'
fi

# python NAME REQUIREMENT...: a folder of its own for each.
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
exit 0
