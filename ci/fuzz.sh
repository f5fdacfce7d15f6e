#!/usr/bin/env bash
# Runs every fuzz target, for 60 s by default. usage: ci/fuzz.sh [SECONDS [TARGET...]]
# Needs Rust and a C++ compiler for libFuzzer, but no nightly toolchain. The properties also run in the ordinary tests.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
if [ $# -gt 0 ]; then
  targets=("$@")
else
  mapfile -t targets < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)
fi

if ! command -v "${CXX:-c++}" >/dev/null; then
  printf 'skipped: %s (there is no C++ compiler)\n' "${targets[@]}"
  exit 0
fi

# Coverage instrumentation for libFuzzer, like `cargo fuzz --sanitizer none`. With `--target` it does not apply to build
# scripts.
host=$(rustc -vV | sed -n 's/^host: //p')
flags='--cfg fuzzing -Cpasses=sancov-module'
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$flag"
done
RUSTFLAGS=$flags cargo build --release --manifest-path fuzz/Cargo.toml --target "$host" "${targets[@]/#/--bin=}"

failed=()
for target in "${targets[@]}"; do
  printf '\n== %s: %d s\n' "$target" "$seconds"
  # New inputs go to fuzz/corpus; fuzz/seeds has the permanent ones. Failing inputs are written to fuzz/artifacts.
  mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
  "fuzz/target/$host/release/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" \
    "-artifact_prefix=fuzz/artifacts/$target/" \
    "-max_total_time=$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 || failed+=("$target")
done

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
