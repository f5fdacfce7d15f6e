"""Nested documents, parents and children: queries with inner hits, sorts and aggregations."""
from random import choice, randint, uniform

from cases import BOOLEANS, KEYWORD, STRING, Area, case, chance, create_index, maybe, sentence, some, validate
from cases import weighted_choice

WORDS = "alpha beta gamma delta eps".split()
TOYS = {"type": "nested", "properties": {"c": KEYWORD, "p": {"type": "float"}}}
KIDS = {
    "type": "nested",
    "properties": {"name": KEYWORD, "age": {"type": "integer"}, "w": STRING, "toys": TOYS},
}
MAPPINGS = {
    "e": {
        "properties": {
            "tag": KEYWORD,
            "text": STRING,
            "n": {"type": "integer"},
            "d": {"type": "double"},
            "t": {"type": "date"},
            "kids": KIDS,
        }
    },
    "c": {"_parent": {"type": "e"}, "properties": {"k": KEYWORD, "s": {"type": "integer"}, "x": STRING}},
}
PAGE = {"size": [0, 1, 2], "from": [0, 1]}
CHILD_HITS = PAGE | {
    "sort": [["s"], [{"k": "desc"}, "s"], "_score"],
    "_source": [False, ["k"], {"exclude": ["x"]}],
    "fields": [["k"], ["s", "x"]],
    "fielddata_fields": [["s"]],
    "explain": [True],
    "version": [True],
    "name": ["a", "b"],
    "highlight": [{"fields": {"x": {}}}],
}
NESTED_HITS = PAGE | {
    "sort": [["kids.age"], [{"kids.age": "desc"}], ["_score"], [{"kids.name": "asc"}, "kids.age"]],
    "_source": [False, ["age"], ["kids.age"], ["name", "toys"]],
    "fielddata_fields": [["kids.age"], ["kids.name"]],
    "explain": [True],
    "name": ["a", "b"],
    "highlight": [{"fields": {"kids.w": {}}}],
    "script_fields": [{"z": {"script": "doc['kids.age'].value * 2", "lang": "expression"}}],
}
PARENT_HITS = {
    "size": [1],
    "_source": [["tag"], False],
    "fielddata_fields": [["n"]],
    "name": ["p"],
    "explain": [True],
}


def word():
    return choice(WORDS)


def words(most):
    return sentence(WORDS, most)


def kid():
    found = {"name": word(), "w": words(3)}
    found |= some(0.85, {"age": range(12)})
    return found | maybe(0.6, {"toys": [{"c": word(), "p": choice([0.5, 1.25, 3, 7.5])} for _ in range(randint(0, 2))]})


def parent():
    return {
        "tag": word(),
        "text": words(5),
        "n": randint(-5, 49),
        "d": round(uniform(0, 100), 2),
        "t": f"2016-0{randint(1, 5)}-{randint(1, 27):02}",
        "kids": [kid() for _ in range(randint(0, 3))],
    }


def documents():
    yield create_index("idx", **MAPPINGS)
    for number in range(16):
        yield case("PUT", f"/idx/e/{number}", parent())
    for number in range(100, 124):
        child = {"k": word(), "s": randint(0, 8), "x": words(4)}
        yield case("PUT", f"/idx/c/{number}?parent={randint(0, 15)}", child)
    yield case("POST", "/idx/_refresh")


def kid_query():
    return choice(
        [
            {"match_all": {}},
            {"match": {"kids.w": words(2)}},
            {"range": {"kids.age": {"gte": randint(0, 7)}}},
            {"term": {"kids.name": word()}},
            {"filtered": {"filter": {"exists": {"field": "kids.age"}}}},
        ]
    )


def toy_query():
    query = choice([{"term": {"kids.toys.c": word()}}, {"range": {"kids.toys.p": {"gt": 1}}}])
    hits = some(0.5, {"inner_hits": [{}, {"size": 1}, {"name": "z"}]})
    return {"nested": {"path": "kids.toys", "query": query} | hits}


def nested():
    query = toy_query() if chance(0.25) else kid_query()
    mode = some(0.4, {"score_mode": ["none", "sum", "avg", "max", "min"]})
    hits = maybe(0.7, {"inner_hits": some(0.3, NESTED_HITS)})
    return {"nested": {"path": "kids", "query": query} | mode | hits}


def has_child(share_of_hits=0.7):
    query = choice(
        [
            {"match_all": {}},
            {"match": {"x": words(2)}},
            {"term": {"k": word()}},
            {"range": {"s": {"lt": randint(0, 8)}}},
            {"function_score": {"query": {"match_all": {}}, "field_value_factor": {"field": "s"}}},
        ]
    )
    mode = some(0.4, {"score_mode": ["none", "sum", "avg", "max", "min"]})
    bounds = some(0.2, {"min_children": [0, 1, 2], "max_children": [2, 3]})
    hits = maybe(share_of_hits, {"inner_hits": some(0.3, CHILD_HITS)})
    return {"has_child": {"type": "c", "query": query} | mode | bounds | hits}


def has_parent():
    query = choice([{"match_all": {}}, {"match": {"text": words(2)}}, {"term": {"tag": word()}}])
    mode = some(0.4, {"score_mode": ["none", "score"]})
    hits = maybe(0.6, {"inner_hits": some(0.3, PARENT_HITS)})
    return {"has_parent": {"parent_type": "e", "query": query} | mode | hits}


def combined():
    should = [has_parent()] if chance(0.3) else []
    return {"bool": {"must": [nested(), has_child(share_of_hits=0)], "should": should}}


def of_number():
    return {"field": choice(["n", "d"])}


PERCENTILES = {"percents": [[50], [1, 99.9], [0, 100], [25, 50, 75]], "keyed": BOOLEANS, "compression": [100, 20]}
METRICS = {
    "percentiles": lambda: of_number() | some(0.4, PERCENTILES),
    "percentile_ranks": lambda: (
        of_number() | {"values": choice([[10], [0, 50], [-100, 1000], [20, 20.5]])} | some(0.3, {"keyed": [False]})
    ),
    "stats": of_number,
    "extended_stats": lambda: of_number() | some(0.3, {"sigma": [3]}),
    "cardinality": lambda: {"field": choice(["tag", "n", "text"])} | some(0.3, {"precision_threshold": [0, 3, 100]}),
    "value_count": lambda: {"field": choice(["tag", "n", "d"])},
    "top_hits": lambda: some(
        0.4, {"size": [1, 2], "sort": [[{"n": "desc"}], ["_score"]], "_source": [["tag"], False], "from": [1]}
    ),
}
# Aggregations that have others at times.
BUCKETS = {
    "terms": lambda: (
        {"field": choice(["tag", "text"])}
        | some(0.4, {"order": [{"_count": "asc"}, {"_term": "desc"}], "size": [1, 2], "min_doc_count": [0, 2]})
    ),
    "histogram": lambda: (
        {"field": "n", "interval": choice([5, 7, 20])}
        | some(0.4, {"min_doc_count": [0, 1, 2], "order": [{"_key": "desc"}], "keyed": [True]})
    ),
    "range": lambda: (
        of_number()
        | {"ranges": choice([[{"to": 10}, {"from": 10}], [{"from": 5, "to": 30, "key": "x"}]])}
        | some(0.3, {"keyed": [True]})
    ),
    "date_histogram": lambda: (
        {"field": "t", "interval": choice(["month", "1w", "10d"])}
        | some(0.4, {"min_doc_count": [0, 1], "format": ["yyyy-MM-dd"], "offset": ["+1d"]})
    ),
    "filter": lambda: {"term": {"tag": word()}},
}
OTHER_BUCKETS = {"missing": lambda: {"field": "kids"}, "global": dict}


def names_of_kids():
    order = some(0.5, {"order": [{"y": "desc"}, {"_count": "asc"}]})
    back = {"reverse_nested": {}, "aggs": {"q": {"terms": {"field": "tag"}}}}
    return {"terms": {"field": "kids.name"} | order, "aggs": {"y": {"avg": {"field": "kids.age"}}, "b": back}}


def nested_aggregation():
    inner = choice(
        [
            {"stats": {"field": "kids.age"}},
            {"percentiles": {"field": "kids.age"}},
            names_of_kids(),
            {"top_hits": {"size": 2, "sort": [{"kids.age": "desc"}]}},
            {"histogram": {"field": "kids.age", "interval": 4}},
        ]
    )
    return {"nested": {"path": "kids"}, "aggs": {"x": inner}}


def children_aggregation():
    inner = choice(
        [
            {"stats": {"field": "s"}},
            {"terms": {"field": "k"}},
            {"top_hits": {"size": 1, "sort": ["s"]}},
            {"percentiles": {"field": "s"}},
        ]
    )
    return {"children": {"type": "c"}, "aggs": {"x": inner}}


def aggregation(depth=2):
    """An aggregation. depth: how many levels it may have below it."""
    kinds = METRICS | BUCKETS | OTHER_BUCKETS
    kind = choice(["nested", "children", "global", *kinds])
    if kind == "nested":
        return nested_aggregation()
    if kind == "children":
        return children_aggregation()
    found = {kind: kinds[kind]()}
    if kind in BUCKETS and depth and chance(0.5):
        found["aggs"] = {"s": aggregation(depth - 1)}
    return found


def sort():
    by_age = some(
        0.4,
        {
            "mode": ["min", "max", "sum", "avg", "median"],
            "missing": ["_first", "_last", 5],
            "nested_path": ["kids"],
            "nested_filter": [{"range": {"kids.age": {"gt": 4}}}, {"term": {"kids.name": "beta"}}],
        },
    )
    by_toy = some(0.5, {"mode": ["max", "sum"], "nested_path": ["kids.toys"], "order": ["desc"]})
    return choice(
        [
            [{"kids.age": {"order": choice(["asc", "desc"])} | by_age}],
            [{"n": "desc"}],
            ["tag", {"d": "asc"}],
            [{"kids.toys.p": by_toy}],
            ["_score"],
            [{"kids.name": "asc"}],
        ]
    )


def aggregated():
    return {"aggs": {"a": aggregation()}, "size": 0} | maybe(0.15, {"sort": sort()})


def sorted_hits():
    return {"query": {"match_all": {}}, "sort": sort()}


def relatives():
    way = weighted_choice({nested: 35, has_child: 20, has_parent: 13, combined: 10, aggregated: 12, sorted_hits: 10})
    if way in (aggregated, sorted_hits):
        body = way()
    else:
        query = way()
        if chance(0.1):
            yield validate(query)
            return
        body = {"query": query} | maybe(0.15, {"sort": sort()})
    body |= maybe(0.3, {"_source": False}) | maybe(0.1, {"explain": True})
    own_type = "/c" if way is has_parent else "/e"
    yield case("GET", f"/idx{choice(['', '', '/e', own_type])}/_search", body)


AREAS = [
    Area("relatives", "nested documents, parents, children: inner hits, sorts, aggregations", documents, relatives)
]
