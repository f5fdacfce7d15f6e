#!/usr/bin/env bash
# Runs all checks, in CI and locally: format, lints, docs, tests (including the recorded sessions), real clients.
# Needs Rust. Anything else is installed by ci/, or the step is skipped with a message.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -t 1 ]; then colour=always; else colour=never; fi
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-$colour}"
# Files of incremental compilation take as much disk as all others, and nothing is compiled twice here.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
# A failed test says where it failed without the lines of each function.
export CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-false}"
# Many tests wait, for a time limit or for a process.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-4}"
if [ "$(df --output=avail -k . | tail -n 1)" -lt 8000000 ]; then
  echo 'less than 8 GB of disk space are free: builds and etcd may fail' >&2
fi
logs=target/check
rm -rf "$logs"
mkdir -p "$logs"
failed=()
skipped=()

step() {
  local name=$1
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  local begun=$SECONDS
  local status=0 output copier
  exec {output}> >(tee "$logs/$name.log")
  copier=$!
  "$@" >&"$output" 2>&1 || status=$?
  exec {output}>&-
  # Wait for the rest of the output, but not for ever: a process that a step left behind holds it open.
  for _ in {1..50}; do
    kill -0 "$copier" 2>/dev/null || break
    sleep 0.1
  done
  if [ "$status" -eq 0 ]; then
    printf '== %s: ok (%d s)\n' "$name" "$((SECONDS - begun))"
  else
    printf '== %s: FAILED (%d s)\n' "$name" "$((SECONDS - begun))"
    failed+=("$name")
  fi
}

# result_of PID FILE: waits for a background process, prints its output from the file, and returns its exit status.
result_of() {
  local status=0
  wait "$1" || status=$?
  cat "$2"
  return "$status"
}

# Repeats the important part of a failed step, because people see the end of a long log first: the failed tests with
# their output, or the last lines of the step.
summary_of() {
  local log="$logs/$1.log" failures
  failures=$(awk '/^failures:$/ { inside = 1 } inside { print } /^test result:/ { inside = 0 }' "$log")
  printf '\n== %s failed; its complete output is in %s\n' "$1" "$log"
  if [ -n "$failures" ]; then printf '%s\n' "$failures" | tail -n 80; else tail -n 40 "$log"; fi | cut -c 1-400
  grep -E '^(error: [0-9]+ targets? failed|    `-p )' "$log" || true
}

# The clients are fetched meanwhile: that waits for the network, not for the processor.
ci/clients/install.sh >"$logs/install.log" 2>&1 &
installing=$!
step format cargo fmt --all --check
step lints cargo clippy --workspace --all-targets --locked -- -D warnings
step docs env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked --quiet
result_of "$installing" "$logs/install.log"
step tests cargo test --workspace --locked --no-fail-fast
step 'durable store' ci/stores.sh durable
ci/clients/run.sh kubectl python node go java browser offline >"$logs/api-clients.log" 2>&1 &
clients=$!
step 'log tools' ci/clients/elasticsearch.sh ci/clients/run.sh elasticsearch elasticsearch-js rsyslog
step clients result_of "$clients" "$logs/api-clients.log"

if command -v etcd >/dev/null; then
  step 'etcd store' ci/stores.sh etcd
else
  skipped+=("etcd store, and the tests over it (etcd is not installed)")
fi

if ! cargo deny --version >/dev/null 2>&1; then
  skipped+=("dependencies (cargo-deny is not installed)")
else
  step dependencies cargo deny --config ci/deny.toml check licenses bans sources
  if cargo deny fetch db >/dev/null 2>&1; then
    step advisories cargo deny --config ci/deny.toml check advisories
  else
    skipped+=("advisories (the advisory database cannot be fetched)")
  fi
fi

printf '\n'
for name in "${skipped[@]}"; do printf 'skipped: %s\n' "$name"; done
if [ ${#failed[@]} -gt 0 ]; then
  for name in "${failed[@]}"; do summary_of "$name"; done
  printf '\nfailed:%s\n' "$(printf ' %s,' "${failed[@]}" | sed 's/,$//')"
  exit 1
fi
printf 'all checks passed\n'
