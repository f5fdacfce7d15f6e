#!/usr/bin/env bash
# What CI runs and what a person runs: format, lints, docs, tests (the recorded sessions among them), real clients.
# Needs Rust; whatever else a step needs is installed by ci/ or the step is skipped by name.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
failed=()
skipped=()

step() {
  local name=$1
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  local begun=$SECONDS
  if "$@"; then
    printf '== %s: ok (%d s)\n' "$name" "$((SECONDS - begun))"
  else
    printf '== %s: FAILED (%d s)\n' "$name" "$((SECONDS - begun))"
    failed+=("$name")
  fi
}

step format cargo fmt --all --check
step lints cargo clippy --workspace --all-targets --locked -- -D warnings
step docs env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked --quiet
ci/clients/install.sh
step tests cargo test --workspace --locked --no-fail-fast
step 'durable store' ci/stores.sh durable
step clients ci/clients/run.sh

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
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
printf 'all checks passed\n'
