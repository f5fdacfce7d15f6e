#!/usr/bin/env python3
"""Compare a server in memory with one whose data directory is closed and opened between requests.

    ci/restarts.py target/debug/stuntdouble --seed 1 --requests 300
    ci/restarts.py target/debug/stuntdouble --seed 1 --requests 300 --search

Both get the same random requests: writes, reads, lists and watches of objects of many kinds, or with --search a session
of search_sessions.py. Now and then the second server is stopped or killed, and started over its directory. Every
response must be the same, but for random values: UIDs, generated names, cluster IPs and node ports. The same seed sends
the same requests. Ends with 1 at a difference.
"""
import argparse
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import tempfile

import search_answers
import search_sessions

# The times of both servers are the same.
API_SERVER = ["serve", "--bare", "--listen", "127.0.0.1:0", "--clock", "frozen:2016-04-01T00:00:00Z"]
# Large enough that no address is allocated twice.
API_SERVER += ["--service-cluster-ip-range", "10.0.0.0/12"]
SEARCH = ["search", "--listen", "127.0.0.1:0"]
NAMESPACES = ["a", "b"]
NAMES = ["one", "two"]
RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    r'|"clusterIP":"10\.[.0-9]+"|"nodePort":\d+|\bg\d{4}-\w{5}\b'
)
PATCHES = {
    "application/strategic-merge-patch+json": lambda pick: {"metadata": {"labels": {"app": pick(["x", "y", None])}}},
    "application/merge-patch+json": lambda pick: {"metadata": {"annotations": {"note": pick(["1", "2", None])}}},
    "application/json-patch+json": lambda pick: [
        {"op": "add", "path": "/metadata/annotations", "value": {"note": pick(["3", "4"])}}
    ],
}
SELECTORS = ["labelSelector=app%3Dx", "labelSelector=tier%20in%20(x,y)", "labelSelector=app!%3Dy",
             "fieldSelector=metadata.name%3Done", "fieldSelector=spec.nodeName%3Dn1"]
CONTAINER = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}}
# Group version, and the fields of a random object.
KINDS = {
    "Pod": ("v1", lambda pick: {"spec": {
        "containers": [CONTAINER | pick([{}, {"resources": {"requests": {"cpu": "100m"}}}])],
        **pick([{}, {"nodeName": "n1"}, {"nodeName": "n2"}]),
    }}),
    "Service": ("v1", lambda pick: {"spec": {
        "type": pick(["ClusterIP", "NodePort", "LoadBalancer"]),
        "ports": [{"port": pick([80, 81])} | pick([{}, {}, {"nodePort": 30001}])],
    }}),
    "ConfigMap": ("v1", lambda pick: {"data": {pick("ab"): pick("12")}}),
    "ReplicationController": ("v1", lambda pick: {"spec": {
        "replicas": pick([0, 2]), "selector": {"app": "x"}, "template": TEMPLATE,
    }}),
    "ResourceQuota": ("v1", lambda pick: {"spec": {"hard": {"pods": pick(["2", "9"])}}}),
    "LimitRange": ("v1", lambda pick: {"spec": {"limits": [{"type": "Container", "default": {"cpu": "200m"}}]}}),
    "Deployment": ("extensions/v1beta1", lambda pick: {"spec": {
        "replicas": pick([0, 2]), "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE,
    }}),
    "HorizontalPodAutoscaler": ("autoscaling/v1", lambda pick: {"spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "one"}, "maxReplicas": pick([1, 5]),
    }}),
    "Node": ("v1", lambda pick: {"spec": {"externalID": pick("ef")}}),
    "Namespace": ("v1", lambda pick: {}),
}
WEIGHTS = [6, 5, 4, 2, 1, 1, 2, 1, 1, 1]


class Server:
    def __init__(self, program, arguments):
        self.command = [program, *arguments]
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
                return
        sys.exit(f"the server did not start: {self.process.stderr.read()}")

    def ask(self, method, path, body, media_type):
        self.connection.request(method, path, body, {"content-type": media_type} if body else {})
        response = self.connection.getresponse()
        return response.status, response.read().decode()

    def stop(self, how):
        self.connection.close()
        self.process.send_signal(how)
        self.process.wait()


class Comparison:
    def __init__(self, memory, durable):
        self.servers = memory, durable
        # Random values of the first server with those of the second, and the number of each value by server.
        self.values, self.numbers = {}, ({}, {})

    def numbered(self, text, server):
        return RANDOM.sub(lambda found: f"<{self.numbers[server].get(found[0], found[0])}>", text)

    def ask(self, method, path, body=None, media_type="application/json"):
        text = None if body is None else json.dumps(body, separators=(",", ":"))
        translated = text and RANDOM.sub(lambda found: self.values.get(found[0], found[0]), text)
        one = self.servers[0].ask(method, path, text, media_type)
        two = self.servers[1].ask(method, path, translated, media_type)
        for pair in zip(RANDOM.findall(one[1]), RANDOM.findall(two[1])):
            if pair[0] not in self.values:
                self.values[pair[0]] = pair[1]
                for value, numbers in zip(pair, self.numbers):
                    numbers[value] = len(numbers)
        if (one[0], self.numbered(one[1], 0)) != (two[0], self.numbered(two[1], 1)):
            sys.exit(f"different: {method} {path} {text}\nin memory: {one[0]} {one[1]}\nrestarted: {two[0]} {two[1]}")
        return one


class Requests:
    def __init__(self, source, comparison):
        self.random, self.ask = source, comparison.ask
        self.versions, self.generated = ["0", "1"], 0
        for namespace in NAMESPACES:
            self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})

    def restarted(self):
        """A restart changes nothing."""

    def path(self, kind, namespace=None, name=None):
        version, _ = KINDS[kind]
        scope = f"/namespaces/{namespace}" if namespace and kind not in ("Node", "Namespace") else ""
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{prefix}{scope}/{kind.lower()}s" + (f"/{name}" if name else "")

    def object(self, kind, name):
        pick = self.random.choice
        version, fields = KINDS[kind]
        metadata = {"name": name, "labels": {pick(["app", "tier"]): pick("xyz")}}
        if kind != "Namespace" and self.random.random() < 0.2:
            self.generated += 1
            metadata = {"generateName": f"g{self.generated:04}-"}
        return {"kind": kind, "apiVersion": version, "metadata": metadata, **fields(pick)}

    def send(self):
        """Sends a random request. Returns the status of the response."""
        pick = self.random.choice
        kind = self.random.choices(list(KINDS), WEIGHTS)[0]
        namespace, name = pick(NAMESPACES), pick(["b", "c"] if kind == "Namespace" else NAMES)
        collection, one = self.path(kind, namespace), self.path(kind, namespace, name)
        selector = pick(["", "", *SELECTORS])
        action = self.random.choices(["create", "update", "patch", "delete", "list", "watch", "clear"],
                                     [10, 5, 4, 6, 4, 2, 1])[0]
        if action == "create":
            response = self.ask("POST", collection, self.object(kind, name))
        elif action == "update":
            response = self.ask("GET", one)
            if response[0] == 200:
                changed = json.loads(response[1])
                changed["metadata"].setdefault("labels", {})["app"] = pick("xyz")
                if pick([False, False, True]):
                    changed["metadata"]["resourceVersion"] = pick(self.versions)
                response = self.ask("PUT", one, changed)
        elif action == "patch":
            media_type = pick(list(PATCHES))
            response = self.ask("PATCH", one, PATCHES[media_type](pick), media_type)
        elif action == "delete":
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": pick([0, 5])}
            response = self.ask("DELETE", one, pick([None, options]))
        elif action == "list":
            response = self.ask("GET", f"{pick([collection, self.path(kind)])}?{selector}")
        elif action == "watch":
            since = pick(self.versions[-60:] + ["0"])
            query = f"watch=true&timeoutSeconds=1&resourceVersion={since}&{selector}"
            response = self.ask("GET", f"{collection}?{query}")
        elif kind != "Namespace":
            response = self.ask("DELETE", f"{collection}?{selector}")
        else:
            response = self.ask("PUT", f"{one}/finalize", {"kind": kind, "metadata": {"name": name}, "spec": {}})
        self.versions += re.findall(r'"resourceVersion":"(\d+)"', response[1])[:2]
        return response[0]


class SearchSession:
    """A random session with two search servers, the second of which is restarted."""

    def __init__(self, seed, servers):
        self.requests, self.servers = search_sessions.Session(seed, statistics=False).requests(), servers

    def restarted(self):
        """Makes visible to searches what a restart makes visible."""
        for server in self.servers:
            server.ask("POST", "/_refresh", None, None)

    def send(self):
        """Sends the next request. Returns the status of the response."""
        method, path, body = next(self.requests)
        body = search_sessions.text(body)
        answers = [server.ask(method, path, body, "application/json") for server in self.servers]
        answers = [search_answers.judged(*answer) for answer in answers]
        if answers[0][0] != answers[1][0] or [*search_answers.differences(answers[0][1], answers[1][1])]:
            sys.exit(f"different: {method} {path} {body}\nin memory: {answers[0]}\nrestarted: {answers[1]}")
        return answers[0][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program, such as target/debug/stuntdouble")
    parser.add_argument("--seed", type=int, default=1, help="seed of the requests (default: 1)")
    parser.add_argument("--requests", type=int, default=300, help="number of requests (default: 300)")
    parser.add_argument("--every", type=int, default=15, help="mean number of requests of a run (default: 15)")
    parser.add_argument("--search", action="store_true", help="send requests to the log search")
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    restarts = succeeded = 0
    server = SEARCH if arguments.search else API_SERVER
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(arguments.program, [*server, "--data-dir", f"{folder}/data"]) as durable,
        Server(arguments.program, server) as memory,
    ):
        if arguments.search:
            requests = SearchSession(arguments.seed, (memory, durable))
        else:
            requests = Requests(source, Comparison(memory, durable))
        for _ in range(arguments.requests):
            if source.random() * arguments.every < 1:
                durable.stop(source.choice([signal.SIGTERM, signal.SIGKILL]))
                durable.start()
                restarts += 1
                requests.restarted()
            succeeded += requests.send() < 300
    print(f"{arguments.requests} requests ({succeeded} succeeded) and {restarts} restarts: no difference")


if __name__ == "__main__":
    main()
