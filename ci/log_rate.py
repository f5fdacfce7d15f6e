#!/usr/bin/env python3
"""Measure log lines on their way from containers to search: the delay of the last one, and lost or duplicate lines.

    log_rate.py PROGRAM [--lines 1000000] [--pods 100] [--rate 20000] [--delete-search]

Starts `PROGRAM serve`, lets pods write numbered lines at a rate, and reads all of them back from the search backend.
With --delete-search a search pod is deleted every 5 seconds. Prints one line of figures. Exit status: 0 if each line
is found once, within 5 seconds after the last was written.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from datetime import datetime

SECONDS = 5
BURSTS = 10  # per second


class Cluster:
    def __init__(self, program):
        addons = "elasticsearch-logging,fluentd-elasticsearch"
        command = [program, "serve", "--listen", "127.0.0.1:0", "--addons", addons]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = re.match(r"ready: (\S+)", self.process.stdout.readline())
        if not ready:
            sys.exit(f"{program} did not start")
        self.url = ready[1]
        self.logs = "/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging"

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)

    def search(self, path, body=None):
        """Send a request to the search backend. Retries while its pods are being replaced."""
        while True:
            try:
                return self.ask(self.logs + path, body)
            except urllib.error.HTTPError as error:
                if error.code not in (404, 503):
                    raise
                time.sleep(0.1)

    def count(self):
        return self.search("/_count?ignore_unavailable=true")["count"]

    def search_pods(self):
        pods = self.ask("/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Delasticsearch-logging")["items"]
        return [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") == "Running"]

    def usage(self):
        """Return the CPU seconds so far, and the peak memory in MiB."""
        fields = open(f"/proc/{self.process.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
        memory = re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{self.process.pid}/status", encoding="ascii").read())
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(memory[1]) // 1024


def write(cluster, pods, each, rate):
    """Start the pods. Each writes its lines in bursts, evenly over time."""
    burst = max(1, rate // pods // BURSTS)
    script = (
        f"n=1; while [ $n -le {each} ]; do m=$((n+{burst - 1})); [ $m -gt {each} ] && m={each}; "
        f"seq $n $m; n=$((m+1)); sleep {1 / BURSTS}; done"
    )
    for pod in range(pods):
        container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
        spec = {"restartPolicy": "Never", "containers": [container]}
        cluster.ask("/api/v1/namespaces/default/pods", {"metadata": {"name": f"rate-{pod}"}, "spec": spec})


def delete_search(cluster, ended):
    deleted = 0
    while not ended.wait(SECONDS):
        for name in cluster.search_pods()[:1]:
            cluster.ask(f"/api/v1/namespaces/kube-system/pods/{name}", {"gracePeriodSeconds": 0}, "DELETE")
            deleted += 1
    print(f"{deleted} search pods were deleted")


def every_line(cluster):
    """Return the numbers of the stored lines by pod, and the time of the last line."""
    found, last = {}, ""
    page = cluster.search("/logstash-*/_search?scroll=5m&search_type=scan", {"size": 2000, "query": {"match_all": {}}})
    while True:
        page = cluster.search(f"/_search/scroll?scroll=5m&scroll_id={page['_scroll_id']}")
        if not page["hits"]["hits"]:
            return found, last
        for hit in page["hits"]["hits"]:
            source = hit["_source"]
            if source["tag"].startswith("kubernetes.rate-"):
                found.setdefault(source["tag"], []).append(int(source["log"]))
                last = max(last, source["@timestamp"])
            else:
                print(f"{source['tag']}: {source['log']}", end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--delete-search", action="store_true")
    arguments = parser.parse_args()
    each = arguments.lines // arguments.pods
    cluster = Cluster(arguments.program)
    try:
        while not cluster.search_pods():
            time.sleep(0.1)
        write(cluster, arguments.pods, each, arguments.rate)
        ended = threading.Event()
        if arguments.delete_search:
            threading.Thread(target=delete_search, args=(cluster, ended), daemon=True).start()
        limit = time.time() + 10 * arguments.lines / arguments.rate + 60
        while cluster.count() < each * arguments.pods and time.time() < limit:
            time.sleep(0.25)
        complete = time.time()
        cpu, memory = cluster.usage()
        ended.set()
        found, last = every_line(cluster)
        late = complete - datetime.fromisoformat(last).timestamp()
        lost = sum(each - len(set(numbers)) for numbers in found.values()) + each * (arguments.pods - len(found))
        duplicate = sum(len(numbers) - len(set(numbers)) for numbers in found.values())
        print(
            f"{each * arguments.pods} lines of {arguments.pods} pods: {lost} lost, {duplicate} duplicate, "
            f"all found {late:.1f} s after the last; CPU {cpu:.0f} s, memory {memory} MiB"
        )
        return 0 if lost == duplicate == 0 and late <= SECONDS else 1
    finally:
        cluster.process.terminate()
        cluster.process.wait()


if __name__ == "__main__":
    sys.exit(main())
