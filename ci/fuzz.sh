#!/usr/bin/env bash
# Runs every fuzz target for a while, 60 s unless said otherwise. usage: ci/fuzz.sh [SECONDS [TARGET...]]
# Needs Rust and a C++ compiler, which builds libFuzzer; no nightly toolchain. The properties run in the ordinary tests too.
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

# Coverage that libFuzzer reads, as `cargo fuzz --sanitizer none` asks for it. With `--target` it is not for build scripts.
host=$(rustc -vV | sed -n 's/^host: //p')
flags='--cfg fuzzing -Cpasses=sancov-module'
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$flag"
done
RUSTFLAGS=$flags cargo build --release --manifest-path fuzz/Cargo.toml --target "$host" "${targets[@]/#/--bin=}"

failed=()
for target in "${targets[@]}"; do
  printf '\n== %s: %d s\n' "$target" "$seconds"
  # New inputs go to fuzz/corpus; the kept ones are in fuzz/seeds. What fails is written to fuzz/artifacts.
  mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
  "fuzz/target/$host/release/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" "-artifact_prefix=fuzz/artifacts/$target/" \
    "-max_total_time=$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 || failed+=("$target")
done

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
