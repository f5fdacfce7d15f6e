"""Valid requests of which one part is altered.

Elasticsearch's parsers read token by token, so that what they make of a wrong value depends on the tokens around it.
Two kinds of requests are left out, since Elasticsearch reads them for ever: ranges of aggregations that are no objects,
and counts and validations of a query that is an array.
"""
import copy
import random
from random import choice

from cases import BOOLEANS, KEYWORD, LONG, STRING, Area, case, create_index

FIELDS = {
    "n": LONG,
    "s": STRING,
    "k": KEYWORD,
    "d": {"type": "date"},
    "g": {"type": "geo_point"},
    "c": {"type": "completion"},
    "o": {"type": "nested", "properties": {"x": LONG, "y": KEYWORD}},
}
DOCUMENTS = [
    {"n": 1, "s": "red fox", "k": "a", "d": "2015-06-22", "g": "1,1", "c": "quick", "o": [{"x": 1, "y": "u"}]},
    {"n": 2, "s": "red dog", "k": "b", "d": "2015-06-23", "g": "2,2", "o": [{"x": 2, "y": "v"}, {"x": 3, "y": "u"}]},
    {"n": 3, "s": "lazy dog", "k": "b"},
]
CLAUSES = [
    {"match_all": {}},
    {"match": {"s": "dog"}},
    {"match": {"s": {"query": "red dog", "operator": "and"}}},
    {"multi_match": {"query": "fox", "fields": ["s", "k"]}},
    {"query_string": {"query": "dog", "default_field": "s"}},
    {"term": {"n": 1}},
    {"terms": {"n": [1, 2]}},
    {"range": {"n": {"gte": 1, "lt": 3}}},
    {"ids": {"values": ["1", "2"]}},
    {"prefix": {"k": "a"}},
    {"nested": {"path": "o", "query": {"term": {"o.y": "u"}}}},
    {"has_child": {"type": "child", "query": {"match_all": {}}}},
    {"span_near": {"clauses": [{"span_term": {"s": "red"}}, {"span_term": {"s": "dog"}}], "slop": 1}},
]
FILTERS = [
    {"term": {"n": 1}},
    {"terms": {"k": ["a", "b"]}},
    {"range": {"n": {"gt": 1}}},
    {"exists": {"field": "d"}},
    {"missing": {"field": "d"}},
    {"and": [{"term": {"k": "b"}}, {"match_all": {}}]},
    {"or": {"filters": [{"term": {"k": "b"}}]}},
    {"not": {"term": {"k": "b"}}},
    {"bool": {"must": [{"term": {"k": "b"}}], "must_not": {"term": {"n": 3}}}},
    {"query": {"match": {"s": "dog"}}},
    {"geo_distance": {"distance": "10km", "g": {"lat": 1, "lon": 1}}},
    {"has_parent": {"type": "t", "query": {"match_all": {}}}},
]
COMPOUNDS = [
    lambda: {"bool": {"must": [choice(CLAUSES)], "should": [choice(CLAUSES)], "minimum_should_match": 1}},
    lambda: {"filtered": {"query": choice(CLAUSES), "filter": choice(FILTERS)}},
    lambda: {"constant_score": {"filter": choice(FILTERS), "boost": 2}},
    lambda: {"dis_max": {"queries": [choice(CLAUSES), choice(CLAUSES)], "tie_breaker": 0.5}},
    lambda: {"boosting": {"positive": choice(CLAUSES), "negative": choice(CLAUSES), "negative_boost": 0.5}},
    lambda: {"function_score": {"query": choice(CLAUSES), "functions": [{"filter": choice(FILTERS), "weight": 2}]}},
]
AGGREGATIONS = [
    {"terms": {"field": "k", "order": {"_term": "asc"}}},
    {"histogram": {"field": "n", "interval": 1}},
    {"date_histogram": {"field": "d", "interval": "day"}},
    {"stats": {"field": "n"}},
    {"cardinality": {"field": "k"}},
    {"filter": {"term": {"k": "b"}}},
    {"filters": {"filters": {"one": {"term": {"k": "b"}}}}},
    {"nested": {"path": "o"}},
    {"top_hits": {"size": 1}},
    {"missing": {"field": "d"}},
    {"global": {}},
]
ELEMENTS = {
    "size": 2,
    "from": 1,
    "sort": [{"n": {"order": "desc"}}],
    "fields": ["n"],
    "_source": {"include": ["n"]},
    "highlight": {"fields": {"s": {"number_of_fragments": 1}}},
    "facets": {"f": {"terms": {"field": "k"}}},
    "suggest": {"s": {"text": "q", "completion": {"field": "c"}}},
    "rescore": {"query": {"rescore_query": {"term": {"s": "dog"}}}},
    "post_filter": {"term": {"k": "b"}},
    "indices_boost": {"idx": 2},
    "min_score": 0.1,
    "version": True,
}
OTHER_VALUES = [[], {}, None, "", "x", 0, 1, -1, 1.5, True, [[]], [{}], [None], ["x"], {"x": 1}]


def documents():
    yield create_index("idx", FIELDS, child={"_parent": {"type": "t"}})
    for number, document in enumerate(DOCUMENTS, 1):
        yield case("PUT", f"/idx/t/{number}", document)
    yield case("PUT", "/idx/child/9?parent=1&refresh=true", {"k": "c"})


def body():
    """A valid body of a search."""
    query = choice([lambda: choice(CLAUSES), choice(COMPOUNDS)])()
    made = {"query": query, **dict(random.sample(sorted(ELEMENTS.items()), choice([0, 1, 2])))}
    if choice(BOOLEANS):
        outer, inner = (dict(choice(AGGREGATIONS)) for _ in range(2))
        made["aggs"] = {"a": {**outer, "aggs": {"b": inner}} if choice(BOOLEANS) else outer}
    return copy.deepcopy(made)


def parts(value):
    """The objects and arrays within a value that have members or items."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return ([value] if items else []) + [part for item in items for part in parts(item)]


def alter(value, donor):
    """Alters one part of a value. donor: one of its parts may give a member."""
    part = choice(parts(value))
    key = choice(list(part) if isinstance(part, dict) else range(len(part)))
    kind = choice(["other", "other", "wrapped", "removed", "doubled"])
    if kind == "wrapped":
        part[key] = [part[key]]
    elif kind == "removed":
        del part[key]
    elif kind == "doubled" and isinstance(part, dict):
        given = choice(parts(donor))
        part.update(copy.deepcopy(list(given.items())[:1]) if isinstance(given, dict) else {})
    else:
        part[key] = choice(OTHER_VALUES)


def requests():
    altered = body()
    alter(altered, body())
    path = choice(["/idx/_search", "/idx/_search", "/idx/_search", "/idx/_count", "/idx/_validate/query?explain=true"])
    if path != "/idx/_search":
        altered = {key: value for key, value in altered.items() if key == "query"}
        if not is_read_to_the_end(altered.get("query")):
            return
    yield case("GET", path, altered)


def is_read_to_the_end(query):
    """Whether Elasticsearch ends to read a query that is counted or validated."""
    return isinstance(query, dict) and all(isinstance(clause, dict) for clause in query.values())


AREAS = [Area("altered", "valid requests of which one part is altered", documents, requests)]
