#!/usr/bin/env bash
# Runs every fuzz target for a while, 60 s unless said otherwise. usage: ci/fuzz.sh [SECONDS [TARGET...]]
# Needs cargo-fuzz and a nightly toolchain; without them the targets are skipped by name. Their properties run in the ordinary tests too.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
if [ $# -gt 0 ]; then
  targets=("$@")
else
  mapfile -t targets < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)
fi

if ! cargo fuzz --version >/dev/null 2>&1; then
  missing="cargo-fuzz is not installed"
elif ! cargo +nightly --version >/dev/null 2>&1; then
  missing="there is no nightly toolchain"
fi

failed=()
for target in "${targets[@]}"; do
  if [ -n "${missing:-}" ]; then
    printf 'skipped: %s (%s)\n' "$target" "$missing"
    continue
  fi
  printf '\n== %s: %d s\n' "$target" "$seconds"
  # New inputs go to target/; the kept ones are in fuzz/seeds.
  mkdir -p "target/fuzz-corpus/$target" "fuzz/seeds/$target"
  cargo +nightly fuzz run "$target" "target/fuzz-corpus/$target" "fuzz/seeds/$target" -- \
    "-max_total_time=$seconds" -max_len=4096 -timeout=10 || failed+=("$target")
done

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
