#!/usr/bin/env python3
"""Use a log search backend with the Python client: index, bulk, read, search, scroll, count, aggregate, administer.

    elasticsearch_client.py BASE_URL      BASE_URL is the backend itself or its path through a service proxy

Works with the `elasticsearch` packages 1.9 and 2.4. Exit status: 0 if all checks passed.
"""
import sys
import urllib.parse

import elasticsearch
from elasticsearch import Elasticsearch, helpers

INDEX = "stuntdouble-client-check"
SHIPPED = "logstash-2015.06.21"
LINES = 10_000


def client(base):
    url = urllib.parse.urlsplit(base)
    node = {"host": url.hostname, "port": url.port or 80}
    if url.path.strip("/"):
        node["url_prefix"] = url.path.strip("/")
    return Elasticsearch([node], timeout=30)


def line(number):
    word = ("error", "info", "warn")[number % 3]
    return {
        "log": f"{word} request {number} took {number * 7 % 100}ms\n",
        "stream": "stderr" if number % 3 == 0 else "stdout",
        "took": number * 7 % 100,
        "@timestamp": f"2015-06-{22 + number % 5}T{number % 24:02}:00:00Z",
    }


def check(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what}: got {actual!r}, expected {expected!r}")
    print(f"ok  {what}")


def ship(es):
    """Ship lines with the bulk helpers, twice as after a lost response, and find each once, in order by time."""
    es.indices.delete(index=SHIPPED, ignore=404)

    def actions():
        for number in range(LINES):
            second = number // 5
            clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            source = {
                "log": f"request number-{number:05} {'refused' if number % 10 == 0 else 'accepted'}\n",
                "stream": "stdout",
                "tag": f"kubernetes.web-{number % 5}_shop_web",
                "@timestamp": f"2015-06-21T{clock}.{number % 5}00+00:00",
            }
            yield {"_index": SHIPPED, "_type": "fluentd", "_id": str(number), "_source": source}

    first = [item["index"]["status"] for _, item in helpers.streaming_bulk(es, actions(), chunk_size=500)]
    check(f"{LINES} lines are accepted", (len(first), set(first)), (LINES, {201}))
    check("and again", helpers.bulk(es, actions(), chunk_size=1000, stats_only=True), (LINES, 0))
    es.indices.refresh(index=SHIPPED)
    check("no duplicates", es.count(index=SHIPPED)["count"], LINES)
    found = es.search(index=SHIPPED, size=LINES, sort="@timestamp:asc", fields="")["hits"]["hits"]
    check("all in order by time", [int(hit["_id"]) for hit in found], list(range(LINES)))
    check("a word", es.count(index=SHIPPED, q="log:refused")["count"], LINES // 10)
    check("a number", [hit["_id"] for hit in es.search(index=SHIPPED, q='log:"number-00042"')["hits"]["hits"]], ["42"])
    check("a container", es.count(index=SHIPPED, q='tag:"kubernetes.web-3_shop_web"')["count"], LINES // 5)
    es.indices.delete(index=SHIPPED)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    es = client(sys.argv[1])
    check("ping", es.ping(), True)
    check("info", sorted(es.info()), ["cluster_name", "name", "status", "tagline", "version"])
    es.indices.delete(index=INDEX, ignore=404)

    stream = {"type": "string", "index": "not_analyzed"}
    settings = {"settings": {"number_of_shards": 1}, "mappings": {"fluentd": {"properties": {"stream": stream}}}}
    check("create index", es.indices.create(index=INDEX, body=settings), {"acknowledged": True})
    check("index exists", es.indices.exists(index=INDEX), True)
    created = es.index(index=INDEX, doc_type="fluentd", id="first", body=line(0), refresh=True)
    check("index", (created["_version"], created["created"]), (1, True))
    check("get", es.get(index=INDEX, doc_type="fluentd", id="first")["_source"], line(0))
    check("exists", es.exists(index=INDEX, doc_type="fluentd", id="first"), True)
    check("update", es.update(index=INDEX, doc_type="fluentd", id="first", body={"doc": {"seen": True}})["_version"], 2)
    check("get source", es.get_source(index=INDEX, doc_type="fluentd", id="first")["seen"], True)
    check("delete", es.delete(index=INDEX, doc_type="fluentd", id="first")["found"], True)
    try:
        es.get(index=INDEX, doc_type="fluentd", id="first")
        sys.exit("get of a deleted document: expected a 404")
    except elasticsearch.NotFoundError as error:
        check("get of a deleted document", error.status_code, 404)

    actions = ({"_index": INDEX, "_type": "fluentd", "_id": str(n), "_source": line(n)} for n in range(300))
    check("bulk", helpers.bulk(es, actions, chunk_size=100), (300, []))
    es.indices.refresh(index=INDEX)
    check("count", es.count(index=INDEX)["count"], 300)
    check("count of a query", es.count(index=INDEX, q="log:error")["count"], 100)
    found = es.search(index=INDEX, q="log:error AND stream:stderr", size=5, sort="@timestamp:desc")
    check("search by URI", (found["hits"]["total"], len(found["hits"]["hits"])), (100, 5))
    body = {
        "query": {"filtered": {"query": {"match": {"log": "error"}}, "filter": {"range": {"took": {"gte": 50}}}}},
        "sort": [{"took": {"order": "desc"}}],
        "highlight": {"fields": {"log": {}}},
        "_source": ["took"],
    }
    found = es.search(index=INDEX, body=body)
    longest = max(line(n)["took"] for n in range(0, 300, 3))
    check("search by body", found["hits"]["hits"][0]["_source"], {"took": longest})
    check("highlight", "<em>error</em>" in found["hits"]["hits"][0]["highlight"]["log"][0], True)
    body = {
        "size": 0,
        "aggs": {
            "days": {
                "date_histogram": {"field": "@timestamp", "interval": "day"},
                "aggs": {"mean": {"avg": {"field": "took"}}},
            },
            "streams": {"terms": {"field": "stream"}},
        },
    }
    answer = es.search(index=INDEX, body=body)["aggregations"]
    check("date histogram", [bucket["doc_count"] for bucket in answer["days"]["buckets"]], [60] * 5)
    mean = sum(line(n)["took"] for n in range(0, 300, 5)) / 60
    check("average per day", answer["days"]["buckets"][0]["mean"]["value"], mean)
    streams = [(bucket["key"], bucket["doc_count"]) for bucket in answer["streams"]["buckets"]]
    check("terms", streams, [("stdout", 200), ("stderr", 100)])
    # Not helpers.scan: version 2 clears the scroll with a JSON body, which Elasticsearch 1.5 does not accept.
    scanned = set()
    page = es.search(index=INDEX, body={"query": {"match_all": {}}}, scroll="5m", size=70)
    while page["hits"]["hits"]:
        scanned.update(hit["_id"] for hit in page["hits"]["hits"])
        page = es.scroll(scroll_id=page["_scroll_id"], scroll="5m")
    check("scan and scroll", scanned, {str(n) for n in range(300)})
    documents = es.mget(index=INDEX, doc_type="fluentd", body={"ids": ["1", "absent"]})["docs"]
    check("mget", [document["found"] for document in documents], [True, False])
    several = es.msearch(body=[
        {"index": INDEX}, {"query": {"match_all": {}}, "size": 1},
        {"index": INDEX}, {"query": {"term": {"stream": "stderr"}}},
    ])
    check("msearch", [answer["hits"]["total"] for answer in several["responses"]], [300, 100])
    check("explain", es.explain(index=INDEX, doc_type="fluentd", id="0", q="log:error")["matched"], True)
    tokens = es.indices.analyze(text="The Quick-brown", analyzer="standard")["tokens"]
    check("analyze", [token["token"] for token in tokens], ["the", "quick", "brown"])
    check("validate", es.indices.validate_query(index=INDEX, q="log:(")["valid"], False)
    try:
        es.search(index=INDEX, q="log:(")
        sys.exit("search with a malformed query: expected a 400")
    except elasticsearch.RequestError as error:
        check("search with a malformed query", error.status_code, 400)

    es.indices.put_alias(index=INDEX, name=INDEX + "-alias")
    check("count by alias", es.count(index=INDEX + "-alias")["count"], 300)
    es.indices.put_mapping(index=INDEX, doc_type="other", body={"other": {"properties": {"size": {"type": "long"}}}})
    mappings = es.indices.get_mapping(index=INDEX, doc_type="other")[INDEX]["mappings"]
    check("mapping", mappings["other"]["properties"]["size"]["type"], "long")
    check("settings", es.indices.get_settings(index=INDEX)[INDEX]["settings"]["index"]["number_of_shards"], "1")
    es.indices.put_template(name=INDEX, body={"template": INDEX + "-*", "settings": {"number_of_shards": 3}})
    check("template", es.indices.exists_template(name=INDEX), True)
    es.indices.delete_template(name=INDEX)
    check("health", es.cluster.health(index=INDEX)["status"] in ("green", "yellow"), True)
    check("state", INDEX in es.cluster.state()["metadata"]["indices"], True)
    check("stats", es.indices.stats(index=INDEX)["_all"]["primaries"]["docs"]["count"], 300)
    check("nodes", len(es.nodes.info()["nodes"]) > 0, True)
    check("cat", INDEX in es.cat.indices(), True)
    check("delete index", es.indices.delete(index=INDEX), {"acknowledged": True})
    check("index does not exist", es.indices.exists(index=INDEX), False)
    ship(es)
    print(f"all checks of the client {'.'.join(map(str, elasticsearch.__version__))} passed")


if __name__ == "__main__":
    main()
