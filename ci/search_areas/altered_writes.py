"""Valid definitions of indices, documents and updates of which one part is altered.

Each request comes with those that show what became of it. The index `w` is new for each definition.
"""
import copy
import json
from random import choice, sample

from altered import alter
from cases import BOOLEANS, KEYWORD, LONG, STRING, Area, case, maybe

FIELDS = {
    "s": {"type": "string", "analyzer": "english", "boost": 2, "store": True},
    "a": {"type": "string", "index_analyzer": "simple", "search_analyzer": "standard", "norms": {"enabled": False}},
    "k": {"type": "string", "index": "not_analyzed", "null_value": "none", "ignore_above": 10, "doc_values": True},
    "m": {"type": "string", "fields": {"raw": KEYWORD}, "copy_to": ["all", "k"], "include_in_all": False},
    "p": {"type": "multi_field", "fields": {"p": STRING, "q": KEYWORD}},
    "n": {"type": "integer", "null_value": 7, "ignore_malformed": True, "precision_step": 8, "coerce": False},
    "f": {"type": "double", "index": "no", "store": "yes", "index_name": "ff"},
    "d": {"type": "date", "format": "yyyy-MM-dd||epoch_millis", "numeric_resolution": "seconds"},
    "e": {"type": "date", "format": "dateOptionalTime", "locale": "en", "null_value": "2015-01-01"},
    "b": {"type": "boolean", "null_value": True},
    "i": {"type": "ip", "null_value": "127.0.0.1"},
    "g": {"type": "geo_point", "lat_lon": True, "geohash": True, "geohash_prefix": True, "geohash_precision": "1km"},
    "c": {"type": "completion", "payloads": True, "max_input_length": 20, "context": {"x": {"type": "category"}}},
    "y": {"type": "binary", "store": True},
    "t": {"type": "token_count", "analyzer": "standard"},
    "o": {"type": "object", "dynamic": "strict", "properties": {"x": LONG}, "enabled": True},
    "l": {"type": "nested", "include_in_parent": True, "properties": {"x": KEYWORD}},
    "u": {"properties": {"v": {"properties": {"w": STRING}}}},
    "z": {"type": "string", "term_vector": "with_positions_offsets", "similarity": "BM25", "position_offset_gap": 3},
    "h": {"type": "string", "fielddata": {"format": "disabled"}, "index_options": "docs", "path": "full"},
}
ROOTS = {
    "_all": {"enabled": False, "store": True},
    "_source": {"enabled": True, "includes": ["*"], "excludes": ["x"], "compress": True},
    "_routing": {"required": False, "path": "k"},
    "_parent": {"type": "q"},
    "_timestamp": {"enabled": True, "path": "d", "format": "yyyy-MM-dd", "default": "2015-01-01"},
    "_ttl": {"enabled": True, "default": "1d"},
    "_id": {"path": "k", "store": True},
    "_type": {"store": True, "index": "not_analyzed"},
    "_index": {"enabled": True},
    "_size": {"enabled": True},
    "_field_names": {"enabled": True},
    "_boost": {"name": "f", "null_value": 2.0},
    "_meta": {"x": [1, {"y": None}]},
    "_analyzer": {"path": "k"},
    "dynamic": "strict",
    "dynamic_date_formats": ["yyyy/MM/dd", "yyyy-MM-dd"],
    "date_detection": False,
    "numeric_detection": True,
    "analyzer": "simple",
    "index_analyzer": "english",
    "search_analyzer": "keyword",
    "include_in_all": False,
    "dynamic_templates": [
        {"one": {"match": "*_s", "match_mapping_type": "string", "mapping": {"type": "string", "store": True}}},
        {"two": {"path_match": "o.*", "path_unmatch": "*.x", "mapping": {"type": "{dynamic_type}", "index": "no"}}},
        {"three": {"match": "^r.*", "match_pattern": "regex", "mapping": {"index": "not_analyzed"}}},
    ],
}
VALUES = {
    "s": ["red fox", ["a", "b"], None, 1, {"value": "x", "boost": 2}, True],
    "a": ["Red Fox", ""],
    "k": ["a", "a long long value", None, ["x", None]],
    "m": ["many words", [1, 2]],
    "p": ["both", {"p": "x"}],
    "n": [1, "2", "x", 1.5, None, [1, 2]],
    "f": [1.5, "1.5"],
    "d": ["2015-06-22", 1434931200000, None],
    "e": ["2015-06-22T10:00:00Z", "2015"],
    "b": [True, "off", 0, "false", None],
    "i": ["10.0.0.1", None],
    "g": [{"lat": 1, "lon": 2}, [2, 1], "1,2", "drm3btev3e86", [[1, 2], [3, 4]], [{"lat": 1, "lon": 2}]],
    "c": ["quick", {"input": ["a", "b"], "output": "c", "weight": 3, "payload": {"x": 1}}],
    "y": ["YWJj"],
    "t": ["three little words"],
    "o": [{"x": 1}, [{"x": 1}, {"x": 2}], None],
    "l": [[{"x": "a"}, {"x": "b"}], {"x": "c"}],
    "u": [{"v": {"w": "deep"}}, {"v": [{"w": "a"}, {"w": ["b"]}]}],
    "z": ["one two"],
    "new": [1, "x", {"y": {"z": 1.5}}, ["2015-06-22"], [[1], [2]], [{"q": 1}], True],
    "r1": ["x"],
    "x_s": ["y"],
}
SETTINGS = {
    "number_of_shards": 1,
    "number_of_replicas": 0,
    "index": {"refresh_interval": "5s"},
    "analysis": {
        "analyzer": {"own": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "st"]}},
        "filter": {"st": {"type": "stop", "stopwords": ["a", "the"]}},
        "char_filter": {"map": {"type": "mapping", "mappings": ["a=>b"]}},
        "tokenizer": {"gram": {"type": "nGram", "min_gram": 1, "max_gram": 2, "token_chars": ["letter"]}},
    },
}
UPDATES = [
    {"doc": {"n": 2, "u": {"v": {"w": "new"}}}},
    {"doc": {"new": [1]}, "doc_as_upsert": True},
    {"doc": {"n": 5}, "upsert": {"n": 6}, "detect_noop": True},
    {"doc": {"s": "x"}, "fields": ["_source", "n"]},
]
FILTER = {"term": {"n": 1}}
# Method, path and body of other requests.
OTHERS = [
    lambda: ("POST", "/w/t/1/_update?parent=1", choice(UPDATES)),
    lambda: ("POST", "/w/t/1/_update?parent=1", choice(UPDATES)),
    lambda: ("GET", "/_mget", {"docs": [{"_index": "w", "_type": "t", "_id": "1", "fields": ["s", "n"]}]}),
    lambda: ("GET", "/w/t/_mget", {"ids": ["1", "2"]}),
    lambda: ("GET", "/w/_mget", {"docs": [{"_id": "1", "_source": {"include": ["n"], "exclude": "s"}}]}),
    lambda: ("GET", "/w/t/1/_termvector", {"fields": ["s"], "offsets": False, "term_statistics": True}),
    lambda: ("GET", "/w/_mtermvectors", {"docs": [{"_type": "t", "_id": "1", "fields": ["s"]}]}),
    lambda: ("GET", "/w/t/1/_explain?parent=1", {"query": FILTER}),
    lambda: ("POST", "/_aliases", {"actions": [{"add": {"index": "w", "alias": "al", "filter": FILTER}}]}),
    lambda: ("PUT", "/w/_alias/al", {"filter": FILTER, "routing": "1"}),
    lambda: ("PUT", "/w/_settings", {"index": {"refresh_interval": "1s", "number_of_replicas": 0}}),
    lambda: ("PUT", "/_template/tp", {"template": "w*", "order": 1, "settings": SETTINGS, "mappings": mappings()}),
    lambda: ("PUT", "/w/_mapping/t", {"t": mapping()}),
    lambda: ("PUT", "/_cluster/settings", {"transient": {"indices.ttl.interval": "60s"}}),
]
SHOWN = [
    "/w",
    "/w/t/1?parent=1&fields=s,n,k,u.v.w,_source,_timestamp,_ttl,_routing,_parent",
    "/w/_mapping/field/*?include_defaults=true",
    "/w/_search?q=_all:*",
]


def chosen(items, most):
    return dict(sample(sorted(items.items()), choice(range(1, most + 1))))


def mapping():
    return copy.deepcopy({**maybe(0.5, chosen(ROOTS, 2)), "properties": chosen(FIELDS, 4)})


def mappings():
    return {"t": mapping()}


def document():
    return copy.deepcopy({name: choice(values) for name, values in chosen(VALUES, 5).items()})


def index(body):
    return case("PUT", "/w/t/1?parent=1&refresh=true", body)


def altered(value, donor):
    alter(value, donor)
    return value


def altered_document():
    """A document, or a line of a bulk request."""
    body = document()
    if choice(BOOLEANS):
        return index(altered(body, VALUES))
    line = {"index": {"_index": "w", "_type": "t", "_id": "1", "_routing": "r", "_parent": "1", "_timestamp": 1}}
    return case("POST", "/_bulk?refresh=true", f"{json.dumps(altered(line, line))} ;; {json.dumps(body)}")


def altered_request():
    method, path, body = choice(OTHERS)()
    return case(method, path, altered(copy.deepcopy(body), body))


def requests():
    definition = {"settings": copy.deepcopy(SETTINGS), "mappings": mappings()}
    subject = choice(["definition", "document", "request"])
    if subject == "definition":
        alter(choice([definition, definition["mappings"]]), choice([FIELDS, ROOTS]))
    yield case("DELETE", "/w")
    yield case("PUT", "/w", definition)
    yield altered_document() if subject == "document" else index(document())
    if subject == "request":
        yield altered_request()
        yield case("DELETE", "/_template/*")
    for path in SHOWN:
        yield case("GET", path)


AREAS = [Area("altered_writes", "definitions and documents of which one part is altered", list, requests)]
