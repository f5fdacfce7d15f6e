#!/bin/sh
# Gates a server on the conformance suite.
#
# Usage: gate.sh URL [ARGUMENT...]     arguments go to `stuntdouble conformance`
#
# Environment:
#   STUNTDOUBLE   the program; default: stuntdouble
#   EXPECTATIONS  a file of known failures; default: none
#   REPORTS       folder of the reports; default: conformance-reports
#   ALLOW_INCOMPLETE  1 passes a run that skipped a must (exit code 4)
#
# The exit code is that of `stuntdouble conformance`. Where GITHUB_STEP_SUMMARY is set, a summary is appended to it, and
# every failed trial becomes an annotation.
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
    --junit "$reports/junit.xml" --html "$reports/report.html" --json "$reports/results.jsonl" "$@"
code=$?

case $code in
0) verdict="passed" ;;
1) verdict="failed" ;;
4) verdict="incomplete: a must was skipped" ;;
*) verdict="not run (exit code $code)" ;;
esac
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    # A line of the results is one flat JSON object.
    count() { grep -c "\"verdict\":\"$1\"" "$reports/results.jsonl" 2>/dev/null; }
    {
        echo "## Conformance of $target: $verdict"
        echo
        echo "| passed | failed | known failures | absent | skipped |"
        echo "|---|---|---|---|---|"
        echo "| $(count passed) | $(count failed) | $(count known-failure) | $(count absent) | $(count skipped) |"
    } >>"$GITHUB_STEP_SUMMARY"
    grep '"verdict":"failed"' "$reports/results.jsonl" 2>/dev/null | head -n 50 |
        sed -n 's/.*"id":"\([^"]*\)".*/::error title=Conformance::\1 failed; see report.html/p'
fi
echo "conformance: $verdict; reports in $reports"
if [ "$code" -eq 4 ] && [ "${ALLOW_INCOMPLETE:-0}" = 1 ]; then
    exit 0
fi
exit $code
