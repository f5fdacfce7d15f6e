#!/bin/sh
# Gates a server on the conformance suite.
#
# Usage: gate.sh URL [ARGUMENT...]     arguments are passed to `stuntdouble conformance`
#
# Environment:
#   STUNTDOUBLE       program; default: stuntdouble
#   EXPECTATIONS      file of known failures; default: none
#   REPORTS           folder of the reports; default: conformance-reports
#   ALLOW_INCOMPLETE  1: a run that skipped a must trial passes (exit code 4 becomes 0)
#
# The exit code is that of `stuntdouble conformance`, which writes the step summary and the annotations of a GitHub
# workflow by itself.
set -u

if [ $# -lt 1 ]; then
    echo "usage: gate.sh URL [ARGUMENT...]" >&2
    exit 2
fi
target=$1
shift
program=${STUNTDOUBLE:-stuntdouble}
reports=${REPORTS:-conformance-reports}
mkdir -p "$reports" || exit 2
if [ -n "${EXPECTATIONS:-}" ]; then
    set -- --expectations "$EXPECTATIONS" "$@"
fi

"$program" conformance --target "$target" \
    --junit "$reports/junit.xml" --html "$reports/report.html" --json "$reports/results.jsonl" \
    --summary "$reports/summary.json" --markdown "$reports/summary.md" --badge "$reports/badge.svg" "$@"
code=$?

case $code in
0) verdict="passed" ;;
1) verdict="failed" ;;
4) verdict="incomplete: a must trial was skipped" ;;
*) verdict="not run (exit code $code)" ;;
esac
if [ -n "${GITHUB_OUTPUT:-}" ] && [ -s "$reports/summary.json" ]; then
    sed -n 's/^  "verdict": "\(.*\)",$/verdict=\1/p' "$reports/summary.json" >>"$GITHUB_OUTPUT"
fi
echo "conformance: $verdict; reports in $reports"
if [ "$code" -eq 4 ] && [ "${ALLOW_INCOMPLETE:-0}" = 1 ]; then
    exit 0
fi
exit $code
