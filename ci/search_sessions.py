#!/usr/bin/env python3
"""Write a random session with a search server: what is read depends on what was written before.

    ci/search_sessions.py SEED COUNT > CASES
    ci/clients/elasticsearch.sh ci/search_answers.py compare CASES --with http://127.0.0.1:9200 --delete-all

Documents are written with versions, routing and parents, one by one and in bulk, updated and deleted, and read by id
and by searches, mostly without a refresh in between; indices, aliases, templates, mappings and settings come and go.
The same seed writes the same requests. `restarts.py --search` sends them to a server that is stopped in between.
"""
import argparse
import itertools
import json
import random

WORDS = ["alpha", "beta", "gamma", "delta"]
INDICES = ["one", "two"]
ALIASES = ["front", "part"]
# No replica and no refresh by time: what a read shows depends on the requests only. Every write is on disk when it is
# acknowledged.
SETTINGS = {"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "-1", "gateway.local.sync": 0}
TAG = {"type": "string", "index": "not_analyzed"}
KIDS = {"type": "nested", "properties": {"name": TAG, "age": {"type": "long"}}}
FAMILY = {"child": {"_parent": {"type": "line"}}, "line": {"properties": {"tag": TAG, "kids": KIDS}}}
VERSIONS = {"version": (0.2, [1, 2, 3, 5]), "version_type": (0.1, ["external", "external_gte", "force", "internal"])}


class Session:
    """The requests of a seed. statistics: whether there are some whose answers depend on the deleted documents."""

    def __init__(self, seed, statistics=True):
        self.random, self.statistics = random.Random(seed), statistics
        self.pick, self.chance = self.random.choice, lambda share: self.random.random() < share
        self.written = 0

    def maybe(self, share, settings):
        return settings if self.chance(share) else {}

    def params(self, **shares):
        """Parameters of a path, each of them present with its probability."""
        found = [f"{name}={self.pick(values)}" for name, (share, values) in shares.items() if self.chance(share)]
        return "?" + "&".join(found) if found else ""

    def document(self):
        """Documents are of different length and number, so that few searches find equal scores."""
        self.written += 1
        text = " ".join(self.pick(WORDS) for _ in range(self.random.randint(1, 9)))
        found = {"n": self.written, "tag": self.pick(WORDS), "text": text}
        kids = [{"name": self.pick(WORDS), "age": self.random.randint(1, 9)} for _ in range(self.random.randint(0, 3))]
        return found | self.maybe(0.4, {"kids": kids}) | self.maybe(0.2, {self.pick("abc"): self.written})

    def id(self):
        return str(self.random.randint(1, 6))

    def place(self):
        """An index or alias, a type and an id."""
        index = self.pick([*INDICES] * 4 + ALIASES)
        return index, self.pick(["line", "line", "line", "child"]), self.id()

    def routed(self, kind):
        """Parameters that route a document: children have a parent."""
        if kind == "child":
            return {"parent": (0.9, ["1", "2"])}
        return {"routing": (0.1, ["x", "y"])}

    def write(self):
        index, kind, name = self.place()
        params = self.params(
            **self.routed(kind), **VERSIONS, op_type=(0.1, ["create"]), refresh=(0.05, ["true"]),
            timestamp=(0.05, ["2016-01-01T00:00:00"]),
        )
        yield "PUT", f"/{index}/{kind}/{name}{params}", self.document()

    def update(self):
        index, kind, name = self.place()
        body = self.pick(
            [
                {"doc": {"tag": self.pick(WORDS)}},
                {"doc": self.document(), "doc_as_upsert": True},
                {"doc": {"n": 1}, "upsert": self.document()},
                {"doc": {"tag": self.pick(WORDS)}, "detect_noop": self.pick([True, False])},
            ]
        )
        params = self.params(
            **self.routed(kind), version=(0.1, [1, 2, 3]), fields=(0.2, ["n", "_source", "tag,n"]),
            retry_on_conflict=(0.1, [2]),
        )
        yield "POST", f"/{index}/{kind}/{name}/_update{params}", body

    def delete(self):
        index, kind, name = self.place()
        yield "DELETE", f"/{index}/{kind}/{name}{self.params(**self.routed(kind), **VERSIONS)}", None

    def delete_by_query(self):
        yield "DELETE", f"/{self.pick(INDICES)}/_query?q={self.pick(['tag', 'text'])}:{self.pick(WORDS)}", None

    def bulk(self):
        lines = []
        for _ in range(self.random.randint(1, 6)):
            index, kind, name = self.place()
            action = self.pick(["index", "index", "create", "update", "delete"])
            meta = {"_index": index, "_type": kind, "_id": name} | self.maybe(0.1, {"_version": self.pick([1, 2, 3])})
            meta |= {"parent": self.pick("12")} if kind == "child" else self.maybe(0.1, {"routing": self.pick("xy")})
            lines.append({action: meta})
            if action == "update":
                lines.append({"doc": {"tag": self.pick(WORDS)}} | self.maybe(0.3, {"doc_as_upsert": True}))
            elif action != "delete":
                lines.append(self.document())
        yield "POST", f"/_bulk{self.params(refresh=(0.1, ['true']))}", lines

    def get(self):
        index, kind, name = self.place()
        params = self.params(
            **self.routed(kind), realtime=(0.3, ["false"]), fields=(0.2, ["n", "tag,_parent,_routing", "_source"]),
            version=(0.1, [1, 2]), refresh=(0.05, ["true"]), _source=(0.1, ["false", "n", "t*"]),
        )
        source = self.pick(["", "", "", "/_source"])
        yield "GET" if source else self.pick(["GET", "GET", "HEAD"]), f"/{index}/{kind}/{name}{source}{params}", None

    def derived(self):
        """What is computed from one document."""
        index, kind, name = self.place()
        endpoints = ["_termvector?fields=text", "_mlt?min_term_freq=1&min_doc_freq=1"] if self.statistics else []
        endpoint = self.pick(["_explain?q=text:b*", *endpoints])
        params = self.params(**self.routed(kind)).replace("?", "&")
        yield "GET", f"/{index}/{kind}/{name}/{endpoint}{params}", None

    def multi_get(self):
        found = []
        for _ in range(3):
            index, kind, name = self.place()
            found.append({"_index": index, "_type": kind, "_id": name} | ({"parent": "1"} if kind == "child" else {}))
        yield "POST", "/_mget", {"docs": found}

    def search(self):
        queries = [
            {"match_all": {}},
            {"match": {"text": f"{self.pick(WORDS)} {self.pick(WORDS)}"}},
            {"term": {"tag": self.pick(WORDS)}},
            {"range": {"n": {"gte": self.written - 20}}},
            {"match_phrase": {"text": f"{self.pick(WORDS)} {self.pick(WORDS)}"}},
            {"has_child": {"type": "child", "query": {"match": {"text": self.pick(WORDS)}}}},
            {"has_parent": {"type": "line", "query": {"match": {"text": self.pick(WORDS)}}}},
            {"ids": {"values": [self.id(), self.id()]}},
            {"query_string": {"query": f"_exists_:{self.pick('abc')} OR text:{self.pick(WORDS)}~"}},
            {"nested": {"path": "kids", "query": {"term": {"kids.name": self.pick(WORDS)}}}},
            {"nested": {"path": "kids", "query": {"range": {"kids.age": {"gte": 4}}}, "inner_hits": {"size": 1}}},
            {"more_like_this": {"ids": [self.id()], "min_term_freq": 1, "min_doc_freq": 1, "fields": ["text"]}},
        ]
        order = {"order": self.pick(["asc", "desc"]), "unmapped_type": "long"}
        body = {"query": self.pick(queries), "sort": [{"n": order}]} | self.maybe(0.2, {"version": True})
        names = {"terms": {"field": "kids.name", "order": {"_term": "asc"}}, "aggs": {"back": {"reverse_nested": {}}}}
        body |= self.maybe(0.2, {"aggs": {"t": {"terms": {"field": "tag", "order": {"_term": "asc"}}}}})
        body |= self.maybe(0.1, {"aggs": {"k": {"nested": {"path": "kids"}, "aggs": {"names": names}}}})
        of_children = {"children": {"type": "child"}, "aggs": {"sum": {"sum": {"field": "n"}}}}
        body |= self.maybe(0.1, {"aggs": {"c": of_children}})
        body |= self.maybe(0.2, {"fields": ["n", "_parent", "_routing", "_timestamp"]})
        body |= self.maybe(0.2, {"size": 2}) | self.maybe(0.1, {"highlight": {"fields": {"text": {}}}})
        where = self.pick([*INDICES, *ALIASES, "_all", "one/line", "two/child", "one,two"])
        params = self.params(ignore_unavailable=(0.3, ["true"]), routing=(0.1, ["x", "1"]))
        yield "POST", f"/{where}/_search{params}", body

    def count(self):
        endpoint = self.pick(["_count", "_count?q=text:beta", "line/_count", "_search/exists?q=tag:alpha"])
        yield "GET", f"/{self.pick([*INDICES, *ALIASES])}/{endpoint}", None

    def make_visible(self):
        where = self.pick(["", *[f"/{index}" for index in INDICES]])
        yield "POST", f"{where}/{self.pick(['_refresh'] * 4 + ['_flush', '_optimize?max_num_segments=1'])}", None

    def index(self):
        index = self.pick(INDICES)
        body = {"mappings": FAMILY, "settings": {"number_of_shards": self.pick([1, 2, 3])}}
        alias = self.maybe(0.5, {"filter": {"term": {"tag": "alpha"}}})
        body |= self.maybe(0.3, {"aliases": {self.pick(ALIASES): alias}})
        yield "DELETE", f"/{index}", None
        yield "PUT", f"/{index}", body

    def alias(self):
        action = self.pick(["add", "add", "remove"])
        one = {"index": self.pick(INDICES), "alias": self.pick(ALIASES)}
        if action == "add":
            one |= self.maybe(0.4, {"filter": {"term": {"tag": self.pick(WORDS)}}})
            one |= self.maybe(0.2, {"routing": self.pick("xy")})
        yield "POST", "/_aliases", {"actions": [{action: one}]}

    def mapping(self):
        fields = [{"e": {"type": "date"}}, {"a": {"type": "string"}}, {"b": {"type": "long"}}, {"n": {"type": "long"}},
                  {"tag": {"type": "string"}}, {"text": {"type": "string", "fields": {"raw": {"type": "string"}}}}]
        kind = self.pick(["line", "line", "child"])
        yield "PUT", f"/{self.pick(INDICES)}/_mapping/{kind}", {kind: {"properties": self.pick(fields)}}

    def template(self):
        name = self.pick("pq")
        if self.chance(0.3):
            yield "DELETE", f"/_template/{name}", None
        else:
            body = {"template": self.pick(["one", "t*"]), "order": self.pick([0, 1])}
            body |= self.maybe(0.5, {"mappings": {"line": {"_timestamp": {"enabled": True, "store": True}}}})
            body |= self.maybe(0.5, {"aliases": {self.pick(ALIASES): {}}})
            yield "PUT", f"/_template/{name}", body

    def settings(self):
        index = self.pick(INDICES)
        setting = self.pick([{"index.gc_deletes": "1d"}, {"index.blocks.write": True}, {"index.blocks.read": True}])
        yield "PUT", f"/{index}/_settings", setting
        yield "POST", f"/{index}/line/1/_update", {"doc": {"tag": "alpha"}}
        yield "GET", f"/{index}/line/1", None
        yield "PUT", f"/{index}/_settings", {"index.blocks.write": False, "index.blocks.read": False}

    def describe(self):
        paths = ["/_mapping", "/one/_mapping", "/_mapping/field/a,b", "/_alias", "/front", "/_template/p", "/_aliases",
                 "/two/_settings", "/_cluster/health", "/_cat/count/one?h=count",
                 "/_cat/aliases?v&h=alias,index,filter,routing.index",
                 "/_cat/indices/one?h=index,status,pri,rep,docs.count", "/_warmer"]
        yield "GET", self.pick(paths), None

    def requests(self):
        """The requests without end, each with its method, path and body: a document, documents of lines, or nothing."""
        yield "PUT", "/_template/all", {"template": "*", "order": -1, "settings": SETTINGS}
        for index in INDICES:
            yield "PUT", f"/{index}", {"mappings": FAMILY}
        for alias in ALIASES:
            yield "PUT", f"/one/_alias/{alias}", {"filter": {"term": {"tag": "alpha"}}} if alias == "part" else None
        ways = {
            self.write: 14, self.update: 7, self.delete: 5, self.delete_by_query: 1, self.bulk: 6, self.get: 9,
            self.derived: 3, self.multi_get: 2, self.search: 14, self.count: 3, self.make_visible: 5, self.index: 1,
            self.alias: 2, self.mapping: 2, self.template: 1, self.settings: 1, self.describe: 3,
        }
        while True:
            yield from self.random.choices(list(ways), list(ways.values()))[0]()


def text(body):
    """A body as it is sent: documents of lines end with the end of a line."""
    compact = lambda document: json.dumps(document, separators=(",", ":"))  # noqa: E731
    if body is None:
        return ""
    return "".join(compact(line) + "\n" for line in body) if isinstance(body, list) else compact(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, metavar="SEED")
    parser.add_argument("count", type=int, metavar="COUNT")
    arguments = parser.parse_args()
    for method, path, body in itertools.islice(Session(arguments.seed).requests(), arguments.count):
        print(method, path, text(body).rstrip("\n").replace("\n", " ;; "))


if __name__ == "__main__":
    main()
