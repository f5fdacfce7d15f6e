#!/usr/bin/env bash
# Measures a release build and a bare hyper server, and writes the figures, tables and plots of docs/performance.md and
# docs/scale.md.
# ci/bench.sh [--quick] [SECTION...]: --quick takes a few minutes and writes no documents; with SECTION the figures of
# other sections stay.
# 10,000 watchers need `ulimit -n 20000`. etcd is measured if it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

most=$(ulimit -Hn)
[ "$most" = unlimited ] || [ "$most" -gt 20000 ] && most=20000
ulimit -n "$most"

cargo build --release --locked --quiet -p stuntdouble-suite -p stuntdouble-bench
if [[ " $* " == *" --quick "* ]]; then
  exec target/release/stuntdouble-bench run --out target/bench/quick.json "$@"
fi
target/release/stuntdouble-bench run "$@"
target/release/stuntdouble-bench report
target/release/stuntdouble-bench scale
