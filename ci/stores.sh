#!/usr/bin/env bash
# stores.sh STORE [all]: runs recorded sessions and the conformance suite over a store: durable, or etcd (three servers
# over three members). A durable store also gets random requests with restarts in between. Takes at most 20 minutes.
# Default: the sessions named life-* and the trials of two kinds. all: every session and trial.
set -euo pipefail
cd "$(dirname "$0")/.."

store=$1
program=target/debug/stuntdouble
folder=$(mktemp -d)
started=()
end() {
  [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap end EXIT

# serve NAME ARGUMENT...: starts a server, waits until it is ready, and sets `url`.
serve() {
  local name=$1
  shift
  "$program" serve --listen 127.0.0.1:0 "$@" >"$folder/$name" &
  started+=($!)
  until url=$(sed -n 's/^ready: //p' "$folder/$name") && [ -n "$url" ]; do
    kill -0 "${started[-1]}"
    sleep 0.1
  done
}

# ports COUNT: prints free ports.
ports() {
  python3 -c '
import socket, sys
bound = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in bound))' "$1"
}

# members: starts three etcd members, and sets `members` to their URLs.
members() {
  local free initial n
  read -ra free <<<"$(ports 6)"
  initial=$(for n in 0 1 2; do printf 'm%d=http://127.0.0.1:%d,' "$n" "${free[n + 3]}"; done)
  members=$(for n in 0 1 2; do printf 'http://127.0.0.1:%d,' "${free[n]}"; done)
  members=${members%,}
  for n in 0 1 2; do
    local client=http://127.0.0.1:${free[n]} peer=http://127.0.0.1:${free[n + 3]}
    etcd --name "m$n" --data-dir "$folder/m$n" --initial-cluster "${initial%,}" \
      --listen-client-urls "$client" --advertise-client-urls "$client" \
      --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" >"$folder/m$n.log" 2>&1 &
    started+=($!)
  done
}

if [ "${2:-}" = all ]; then
  sessions=()
  trials=()
  # The sessions walk-* have watches of three seconds, which the slower writes exceed.
  [ "$store" != etcd ] || sessions=(--skip walk-)
else
  sessions=(life-)
  trials=(core/v1/configmaps core/v1/services)
fi
# --workspace: the same features as in the other tests, so that the program is not built a second time.
STUNTDOUBLE_TEST_STORE=$store timeout 450 cargo test --quiet --workspace --locked --test recorded -- "${sessions[@]}"

case $store in
durable)
  serve server --data-dir "$folder/data"
  ;;
etcd)
  command -v etcd >/dev/null || { echo 'skipped: etcd is not installed'; exit 0; }
  members
  for server in one two three; do serve "$server" --etcd "$members"; done
  ;;
*)
  echo "usage: stores.sh durable|etcd [all]" >&2
  exit 2
  ;;
esac
outcome=0
timeout 450 "$program" conformance --target "$url" "${trials[@]}" || outcome=$?
# Exit code 4: nothing failed, but trials that need more than the address of the target were skipped.
[ "$outcome" -eq 0 ] || [ "$outcome" -eq 4 ]

if [ "$store" = durable ]; then
  if command -v python3 >/dev/null; then
    timeout 200 ci/restarts.py "$program" --requests 150 --every 6
    timeout 200 ci/restarts.py "$program" --requests 300 --every 6 --search
  else
    echo 'skipped: random requests with restarts in between (python3 is not installed)'
  fi
fi
