#!/usr/bin/env python3
"""Ship log lines with rsyslog and its Elasticsearch output, and find each of them once.

    rsyslog.py BASE_URL      BASE_URL is the log search backend, or its path through a service proxy

rsyslog reads a file and sends its lines in bulk to the index of the day. Exit status: 0 if all checks passed.
"""
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LINES = 10_000
TAG = "rsyslog.shop_web"
SECONDS = 120

CONFIG = """
global(workDirectory="{work}" maxMessageSize="64k")
module(load="imfile" mode="inotify")
module(load="omelasticsearch")
template(name="index" type="string" string="logstash-%$YEAR%.%$MONTH%.%$DAY%")
template(name="record" type="list") {{
  constant(value="{{")
  property(outname="log" name="msg" format="jsonf")
  constant(value=",\\"stream\\":\\"stdout\\",")
  property(outname="tag" name="syslogtag" format="jsonf")
  constant(value=",")
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  constant(value="}}")
}}
input(type="imfile" file="{work}/lines" tag="{tag}" ruleset="ship")
ruleset(name="ship" queue.type="LinkedList" queue.size="20000" queue.dequeueBatchSize="1000") {{
  action(type="omelasticsearch" server="{base}" template="record" searchIndex="index" dynSearchIndex="on"
    searchType="fluentd" bulkmode="on" errorFile="{work}/errors" action.resumeRetryCount="-1" action.resumeInterval="1")
}}
"""


def line(number):
    word = "refused" if number % 10 == 0 else "accepted"
    return f'10.244.0.{number % 256} "GET /orders/{number}" {word} päyment number-{number:05}'


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def stored(base):
    query = {"query": {"filtered": {"filter": {"query": {"match": {"tag": {"query": TAG, "type": "phrase"}}}}}}}
    try:
        return ask(f"{base}/logstash-*/_count?ignore_unavailable=true", query)["count"]
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


def check(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what}: got {actual!r}, expected {expected!r}")
    print(f"ok  {what}")


def every_line(base):
    """Return the stored lines, by scrolling."""
    found = []
    page = ask(f"{base}/logstash-*/_search?scroll=1m&q=tag:{TAG}", {"size": 1000})
    while page["hits"]["hits"]:
        found.extend(hit["_source"] for hit in page["hits"]["hits"])
        page = ask(f"{base}/_search/scroll?scroll=1m&scroll_id={page['_scroll_id']}")
    return [source for source in found if source["tag"] == TAG]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    base = sys.argv[1].rstrip("/")
    with tempfile.TemporaryDirectory() as work:
        Path(work, "lines").write_text("".join(f"{line(number)}\n" for number in range(LINES)))
        Path(work, "rsyslog.conf").write_text(CONFIG.format(work=work, tag=TAG, base=base))
        command = ["rsyslogd", "-n", "-f", f"{work}/rsyslog.conf", "-i", f"{work}/pid"]
        output = Path(work, "output").open("w+", encoding="utf-8")
        with output, subprocess.Popen(command, stdout=output, stderr=output) as shipper:
            try:
                end = time.monotonic() + SECONDS
                while (count := stored(base)) != LINES and time.monotonic() < end and shipper.poll() is None:
                    time.sleep(0.2)
            finally:
                shipper.terminate()
        if count != LINES:
            print(Path(work, "output").read_text()[:4000])
            errors = Path(work, "errors")
            print(errors.read_text()[:4000] if errors.exists() else "no error file")
    check("every line is stored", count, LINES)
    # The count may come from the copy of a shard that was refreshed first; the search must see each copy refreshed.
    ask(f"{base}/logstash-*/_refresh", {})
    lines = every_line(base)
    written = sorted(line(number) for number in range(LINES))
    check("each once, as it was written", sorted(source["log"] for source in lines), written)
    check("a time for each", all(source["@timestamp"].startswith("20") for source in lines), True)
    check("a word is found", ask(f"{base}/logstash-*/_count?q=log:refused+AND+tag:{TAG}")["count"], LINES // 10)
    found = ask(f"{base}/logstash-*/_count?q=log:%22number-00042%22+AND+tag:{TAG}")["count"]
    check("a number is found", found, 1)
    print("all checks of rsyslog passed")


if __name__ == "__main__":
    main()
