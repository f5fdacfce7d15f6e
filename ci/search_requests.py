#!/usr/bin/env python3
"""Write random search requests, to compare the answers of a server with those of a real Elasticsearch.

    ci/search_requests.py valid SEED COUNT > CASES
    ci/search_requests.py mutate RECORDED SEED COUNT > CASES
    ci/clients/elasticsearch.sh ci/search_answers.py compare CASES --with http://127.0.0.1:9200 --delete-all

`valid` writes COUNT valid searches of documents with nested objects and children, in an index of three shards.
`mutate` writes the requests of a file of recorded answers, each read followed by COUNT copies in which values are
removed, replaced, renamed or of another type, or which have another parameter. The same seed writes the same requests.
"""
import argparse
import copy
import json
import random
from random import choice, randint

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split()
INDEX = {
    "settings": {"number_of_shards": 3, "number_of_replicas": 0},
    "mappings": {
        "e": {
            "properties": {
                "tag": {"type": "string", "index": "not_analyzed"},
                "text": {"type": "string"},
                "n": {"type": "integer"},
                "d": {"type": "float"},
                "b": {"type": "boolean"},
                "t": {"type": "date"},
                "loc": {"type": "geo_point"},
                "kids": {
                    "type": "nested",
                    "properties": {
                        "name": {"type": "string", "index": "not_analyzed"},
                        "age": {"type": "integer"},
                        "words": {"type": "string"},
                    },
                },
            }
        },
        "c": {
            "_parent": {"type": "e"},
            "properties": {"kind": {"type": "string", "index": "not_analyzed"}, "size": {"type": "integer"}},
        },
    },
}


def case(method, path, body=None):
    return f"{method} {path} {json.dumps(body, separators=(',', ':')) if body is not None else ''}"


def chance(share):
    return random.random() < share


def maybe(share, settings):
    """Settings that a request has at times."""
    return settings if chance(share) else {}


def word():
    return choice(WORDS)


def words(count):
    return " ".join(word() for _ in range(count))


def name():
    return choice(WORDS[:4])


def kind():
    return choice(WORDS[:3])


def document():
    found = {
        "tag": [WORDS[int(random.expovariate(0.3)) % 12] for _ in range(choice([1, 1, 2, 3]))],
        "text": words(randint(2, 9)),
        "n": int(random.expovariate(0.2)),
        "t": f"2015-06-{randint(20, 26)}T{randint(0, 23):02}:{randint(0, 59):02}:00Z",
    }
    found |= maybe(0.7, {"d": randint(-20, 20) / 4})
    found |= maybe(0.7, {"b": chance(0.5)})
    found |= maybe(0.7, {"loc": {"lat": randint(-60, 60), "lon": randint(-170, 170)}})
    kids = [{"name": name(), "age": randint(1, 9), "words": words(3)} for _ in range(randint(1, 3))]
    return found | maybe(0.6, {"kids": kids})


def documents():
    yield case("PUT", "/h", INDEX)
    for number in range(40):
        yield case("PUT", f"/h/e/{number}", document())
        for child in range(choice([0, 0, 1, 2])):
            yield case("PUT", f"/h/c/{number}_{child}?parent={number}", {"kind": kind(), "size": randint(1, 20)})
    yield case("POST", "/h/_refresh")


def nested_hits():
    return (
        maybe(0.4, {"size": choice([1, 2])})
        | maybe(0.3, {"sort": [{"kids.age": choice(["asc", "desc"])}]})
        | maybe(0.3, {"name": f"own{randint(0, 99)}"})
        | maybe(0.2, {"fields": ["kids.name"]})
        | maybe(0.2, {"_source": choice([False, "kids.age", ["name"]])})
        | maybe(0.2, {"explain": False})
        | maybe(0.2, {"highlight": {"fields": {"kids.words": {}}}})
        | maybe(0.2, {"fielddata_fields": ["kids.age"]})
    )


def score_function():
    weighed = {"weight": 2, "filter": filtering(2)}
    modifier = choice(["none", "log1p", "sqrt", "square", "ln1p"])
    decay = {"n": {"origin": 5, "scale": 3, "offset": choice([0, 1]), "decay": 0.4}}
    return choice(
        [
            weighed,
            {"weight": 3},
            {"field_value_factor": {"field": "n", "factor": 1.2, "modifier": modifier}},
            {choice(["gauss", "exp", "linear"]): decay},
            {"gauss": {"t": {"origin": "2015-06-23", "scale": "2d"}}},
            {"gauss": {"loc": {"origin": "10,10", "scale": "2000km"}}},
        ]
    )


def span_term():
    return {"span_term": {"text": word()}}


def query(depth=0):
    """A query; one without others from the third level on."""
    leaves = [
        lambda: {
            "match": {
                choice(["text", "tag", "_all"]): {"query": words(randint(1, 3))}
                | maybe(0.3, {"operator": choice(["and", "or"])})
                | maybe(0.2, {"minimum_should_match": choice([1, 2, "50%", "-1", "2<75%"])})
                | maybe(0.2, {"fuzziness": choice([1, "AUTO", 0, 2])})
                | maybe(0.2, {"boost": choice([2, 0.5])})
            }
        },
        lambda: {"term": {choice(["tag", "text"]): word()}},
        lambda: {"terms": {choice(["tag", "text"]): [word(), word()], "minimum_should_match": choice([1, 2])}},
        lambda: {
            "range": {
                choice(["n", "d"]): {
                    choice(["gte", "gt"]): randint(-2, 3),
                    choice(["lt", "lte"]): randint(3, 9),
                }
            }
        },
        lambda: {"range": {"t": {"gte": f"2015-06-2{randint(0, 5)}", "lt": "2015-06-26||/d"}}},
        lambda: {
            "query_string": {
                "query": choice(
                    [
                        words(2),
                        f"text:{word()}~1",
                        f"+{word()} -{word()}",
                        f'"{words(2)}"~3',
                        "n:[1 TO 5]",
                        f"tag:({word()} OR {word()})^2",
                        f"{word()[:2]}*",
                        "_exists_:d",
                        "n:>=3 AND d:<2",
                    ]
                )
            }
            | maybe(0.4, {"default_field": "text"})
            | maybe(0.3, {"default_operator": "AND"})
        },
        lambda: {
            "simple_query_string": {
                "query": choice(
                    [f"{word()} + {word()}", f"{word()} | -{word()}", f'"{words(2)}"~2', f"{word()[:2]}*"]
                ),
                "fields": choice([["text"], ["text^2", "tag"]]),
            }
        },
        lambda: {"prefix": {choice(["text", "tag"]): word()[:2]}},
        lambda: {"wildcard": {choice(["text", "tag"]): choice(["*a", "?e*", "k*a"])}},
        lambda: {
            "fuzzy": {
                "text": {"value": word()[:-1], "fuzziness": choice([1, 2]), "prefix_length": choice([0, 1])}
            }
        },
        lambda: {
            choice(["match_phrase", "match_phrase_prefix"]): {
                "text": {"query": f"{word()} {word()[:3]}", "slop": choice([0, 2, 5])}
            }
        },
        lambda: {
            "multi_match": {
                "query": words(2),
                "fields": choice([["text", "tag"], ["text^3", "tag"], ["t*"]]),
                "type": choice(["best_fields", "most_fields", "cross_fields", "phrase", "phrase_prefix"]),
            }
            | maybe(0.3, {"tie_breaker": 0.3})
            | maybe(0.2, {"use_dis_max": chance(0.5)})
        },
        lambda: {"ids": {"type": "e", "values": [str(randint(0, 39)) for _ in range(4)]}},
        lambda: {
            "common": {
                "text": {"query": words(3), "cutoff_frequency": choice([0.3, 5, 0.001])}
                | maybe(0.4, {"low_freq_operator": "and"})
            }
        },
        lambda: {"more_like_this": {"fields": ["text"], "like_text": words(3), "min_term_freq": 1, "min_doc_freq": 1}},
        lambda: {
            "span_near": {
                "clauses": [span_term(), span_term()],
                "slop": choice([0, 2, 5]),
                "in_order": chance(0.5),
            }
        },
        lambda: {"span_or": {"clauses": [span_term(), span_term()]}},
        lambda: {"span_first": {"match": span_term(), "end": choice([1, 3])}},
        lambda: {"span_not": {"include": span_term(), "exclude": span_term()}},
        lambda: {"span_multi": {"match": {"prefix": {"text": word()[:2]}}}},
    ]
    inner = lambda: query(depth + 1)  # noqa: E731
    compound = [
        lambda: {
            "bool": {
                part: [inner() for _ in range(choice([1, 2]))]
                for part in random.sample(["must", "should", "must_not"], choice([1, 2, 3]))
            }
            | maybe(0.2, {"minimum_should_match": choice([1, 2, "50%"])})
        },
        lambda: {
            "nested": {
                "path": "kids",
                "query": choice(
                    [
                        {"term": {"kids.name": name()}},
                        {"range": {"kids.age": {"gte": randint(1, 6)}}},
                        {"match": {"kids.words": word()}},
                    ]
                ),
            }
            | maybe(0.6, {"score_mode": choice(["avg", "sum", "max", "total", "none"])})
            | maybe(0.5, {"inner_hits": nested_hits()})
        },
        lambda: {
            "has_child": {
                "type": "c",
                "query": choice(
                    [{"term": {"kind": kind()}}, {"match_all": {}}, {"range": {"size": {"gt": randint(1, 15)}}}]
                ),
            }
            | maybe(0.6, {"score_mode": choice(["avg", "sum", "max", "none", "min"])})
            | maybe(0.3, {"min_children": choice([1, 2])})
            | maybe(0.4, {"inner_hits": maybe(0.4, {"sort": [{"size": "desc"}]})})
        },
        lambda: {
            "has_parent": {"parent_type": "e", "query": query(2)}
            | maybe(0.4, {"score_mode": choice(["score", "none"])})
        },
        lambda: {"dis_max": {"queries": [inner(), inner()], "tie_breaker": choice([0, 0.5])}},
        lambda: {
            "constant_score": choice([{"filter": filtering(depth + 1)}, {"query": inner()}])
            | {"boost": choice([1, 2])}
        },
        lambda: {"filtered": {"query": inner(), "filter": filtering(depth + 1)}},
        lambda: {
            "function_score": {
                "functions": [score_function() for _ in range(choice([1, 2]))],
                "score_mode": choice(["multiply", "sum", "avg", "first", "max", "min"]),
                "boost_mode": choice(["multiply", "replace", "sum", "avg", "max", "min"]),
            }
            | maybe(0.7, {"query": query(2)})
            | maybe(0.3, {"max_boost": choice([1.5, 5])})
            | maybe(0.2, {"min_score": 0.5})
        },
        lambda: {"boosting": {"positive": inner(), "negative": inner(), "negative_boost": 0.3}},
    ]
    return choice(leaves if depth > 1 or chance(0.6) else compound)()


def filtering(depth=0):
    """A filter; one without others from the third level on."""
    leaves = [
        lambda: {"term": {"tag": word()}},
        lambda: {"range": {"n": {"gte": randint(0, 5)}}},
        lambda: {"range": {"d": {"lt": 2}}},
        lambda: {"exists": {"field": choice(["d", "b", "loc"])}},
        lambda: {"missing": {"field": choice(["d", "b", "nope"])}},
        lambda: {"query": {"match": {"text": word()}}},
        lambda: {"geo_distance": {"distance": choice(["3000km", "5000km"]), "loc": "10,10"}},
        lambda: {"geo_bounding_box": {"loc": {"top_left": "50,-100", "bottom_right": "-20,80"}}},
        lambda: {"nested": {"path": "kids", "filter": {"term": {"kids.name": name()}}}},
        lambda: {"terms": {"tag": [word(), word()], "execution": choice(["plain", "bool", "and", "or"])}},
        lambda: {"type": {"value": choice(["e", "c"])}},
        lambda: {"has_child": {"type": "c", "filter": {"term": {"kind": kind()}}}},
        lambda: {"term": {"b": True}},
        lambda: {"prefix": {"tag": word()[:1]}},
    ]
    inner = lambda: filtering(depth + 1)  # noqa: E731
    compound = [
        lambda: {"bool": {"must": [inner()], "must_not": [inner()]}},
        lambda: {choice(["and", "or"]): [inner(), inner()]},
        lambda: {"not": inner()},
    ]
    return choice(leaves if depth > 1 or chance(0.7) else compound)()


def metric():
    field = choice(["n", "d", "t"])
    return choice(
        [
            {choice(["stats", "extended_stats", "avg", "min"]): {"field": field}},
            {"cardinality": {"field": choice(["tag", "n", "text"])}},
            {"value_count": {"field": choice(["tag", "n", "kids.age"])}},
            {"percentile_ranks": {"field": "n", "values": [1, 5]}},
            {"geo_bounds": {"field": "loc"}},
            {
                "top_hits": {
                    "size": choice([1, 2]),
                    "sort": [{"n": choice(["asc", "desc"])}, {"t": "asc"}],
                    "_source": choice([False, ["n"], {"include": ["tag"]}]),
                }
            },
            {"significant_terms": {"field": choice(["tag", "text"]), "min_doc_count": choice([1, 2, 3])}},
        ]
    )


def terms():
    field = choice(["tag", "n", "text", "b", "d", "t"])
    orders = [{"_count": "asc"}, {"_term": "asc"}, {"_term": "desc"}]
    return (
        {"field": field}
        | maybe(0.4, {"size": choice([0, 1, 2, 5, 20])})
        | maybe(0.3, {"order": choice(orders)})
        | maybe(0.2, {"min_doc_count": choice([0, 2])})
        | maybe(0.1, {"shard_size": choice([1, 3])})
        | maybe(0.1, {"show_term_doc_count_error": True})
        | (maybe(0.1, {"include": ".*a"}) if field in ("tag", "text") else {})
        | maybe(0.1, {"collect_mode": "breadth_first"})
    )


def bucketing(depth):
    bounds = [{"to": 2}, {"from": 2, "to": 5, "key": "mid"}, {"from": 5}]
    dates = [{"to": "2015-06-22"}, {"from": "2015-06-22", "to": "2015-06-24||+1d"}, {"from": "2015-06-25"}]
    distances = [{"to": 3000}, {"from": 3000, "to": 9000}, {"from": 9000}]
    kinds = [
        {"terms": terms()},
        {"terms": terms()},
        {
            "histogram": {"field": choice(["n", "d"]), "interval": choice([1, 2, 5])}
            | maybe(0.4, {"min_doc_count": choice([0, 1, 2])})
            | maybe(0.2, {"order": {"_count": "desc"}})
            | maybe(0.1, {"keyed": True})
            | maybe(0.2, {"extended_bounds": {"min": -3, "max": 12}})
        },
        {
            "date_histogram": {"field": "t", "interval": choice(["day", "12h", "week", "month", "hour"])}
            | maybe(0.3, {"time_zone": choice(["+02:00", "Europe/Paris", -3])})
            | maybe(0.3, {"format": "yyyy-MM-dd"})
            | maybe(0.3, {"min_doc_count": 0})
            | maybe(0.1, {"offset": choice(["6h", "-6h"])})
        },
        {"range": {"field": choice(["n", "d"]), "ranges": bounds} | maybe(0.2, {"keyed": True})},
        {"date_range": {"field": "t", "ranges": dates} | maybe(0.3, {"format": "yyyy-MM-dd"})},
        {"geo_distance": {"field": "loc", "origin": "10,10", "unit": "km", "ranges": distances}},
        {"geohash_grid": {"field": "loc", "precision": choice([1, 2])}},
        {"missing": {"field": choice(["d", "b", "loc", "nope"])}},
        {"filter": filtering()},
        {"filters": {"filters": choice([{"x": filtering(), "y": filtering()}, [filtering(), filtering()]])}},
    ]
    if depth == 0:
        kinds.append({"global": {}})
    bucket = choice(kinds)
    if depth < 2 and chance(0.5):
        bucket["aggs"] = {f"s{number}": aggregation(depth + 1) for number in range(choice([1, 1, 2]))}
    return bucket


def aggregation(depth=0):
    nested = [
        {"terms": {"field": "kids.name"}},
        {"avg": {"field": "kids.age"}},
        {"histogram": {"field": "kids.age", "interval": 3}},
        {
            "terms": {"field": "kids.name"},
            "aggs": {"back": {"reverse_nested": {}, "aggs": {"tags": {"terms": {"field": "tag", "size": 3}}}}},
        },
        {"top_hits": {"size": 1, "sort": [{"kids.age": "desc"}, {"kids.name": "asc"}]}},
    ]
    children = [{"terms": {"field": "kind"}}, {"sum": {"field": "size"}}, {"max": {"field": "size"}}]
    if chance(0.1):
        return {"nested": {"path": "kids"}, "aggs": {"k": choice(nested)}}
    if chance(0.05):
        return {"children": {"type": "c"}, "aggs": {"k": choice(children)}}
    return bucketing(depth) if chance(0.6) else metric()


def search():
    wants_query, wants_aggregations = choice([(True, True), (True, False), (True, False), (False, True)])
    sorts = [
        [{"n": "desc"}, {"t": "asc"}],
        [{"d": {"order": "asc", "missing": choice(["_first", "_last", 0])}}, {"t": "asc"}],
        ["_score", {"t": "desc"}],
        [{"kids.age": {"order": "desc", "mode": choice(["min", "max", "avg", "sum"])}}, {"t": "asc"}],
        [{"_geo_distance": {"loc": "0,0", "unit": "km", "order": "asc"}}, {"t": "asc"}],
        [{"tag": {"order": "asc", "mode": choice(["min", "max"])}}, {"t": "desc"}],
    ]
    of_text = {"fragment_size": choice([18, 100]), "number_of_fragments": choice([0, 1, 3])}
    own_tags = {"pre_tags": ["<b>"], "post_tags": ["</b>"], "fields": {"*": {}}}
    highlights = [
        {"fields": {"text": {}}},
        {"fields": {"text": of_text}},
        own_tags | {"require_field_match": chance(0.5)},
    ]
    rescore = {
        "window_size": choice([5, 20]),
        "query": {
            "rescore_query": query(2),
            "query_weight": 0.7,
            "rescore_query_weight": 1.5,
            "score_mode": choice(["total", "multiply", "max"]),
        },
    }
    body = {"query": query()} if wants_query else {}
    if wants_aggregations:
        body["aggs"] = {f"a{number}": aggregation() for number in range(choice([1, 2]))}
    body |= maybe(0.3, {"sort": choice(sorts)})
    body |= maybe(0.2, {"from": choice([0, 2, 5]), "size": choice([0, 1, 3, 20])})
    body |= maybe(0.15, {"highlight": choice(highlights)})
    body |= maybe(0.1, {"post_filter": filtering()})
    body |= maybe(0.1, {"fields": choice([["n", "tag"], ["kids.name"], ["_parent", "n"], ["*"]])})
    body |= maybe(0.1, {"_source": choice([False, ["n", "kids.*"], {"exclude": ["text", "kids"]}])})
    body |= maybe(0.05, {"min_score": 0.3})
    body |= maybe(0.05, {"version": True})
    body |= maybe(0.05, {"fielddata_fields": ["n", "t"]})
    if "sort" not in body:
        body |= maybe(0.08, {"rescore": rescore})
    types = ["", "", "?search_type=dfs_query_then_fetch", "?search_type=count"]
    return case("POST", choice(["/h/e", "/h/e", "/h", "/h/c,e"]) + "/_search" + choice(types), body)


# Requests that are not changed: they write, or a real server takes all of the memory or never answers.
READS = ["_search", "_count", "_validate", "_explain", "_suggest", "_mget", "_msearch", "_analyze", "_termvector", "_mlt"]
LEFT_OUT = ["scroll", "script", "percolat", "extended_bounds", '"ranges"']
OTHER_VALUES = [None, True, "1", 1, -1, 0, 1.5, "abc", [], {}, 1_000_000_000_000]


class Pool:
    """The members and parameters of the requests of a file."""

    def __init__(self, requests):
        self.members, self.params = {}, {}
        for _, path, body in requests:
            for _, key, item in walk(parts(body) or []):
                if isinstance(key, str):
                    self.members.setdefault(key, []).append(item)
            for pair in filter(None, path.partition("?")[2].split("&")):
                key, _, value = pair.partition("=")
                if key != "source":
                    self.params.setdefault(key, []).append(value)

    def member(self, key):
        return copy.deepcopy(choice(self.members.get(key) or OTHER_VALUES))

    def other_body(self, document):
        """A copy of a document with a change."""
        document = copy.deepcopy(document)
        places = list(walk(document))
        if not places:
            return document
        holder, key, value = choice(places)
        change = choice(["replace", "replace", "remove", "rename", "retype", "add"])
        if change == "replace" and isinstance(key, str):
            holder[key] = self.member(key)
        elif change == "remove":
            del holder[key]
        elif change == "rename" and isinstance(key, str):
            holder[choice(list(self.members))] = holder.pop(key)
        elif change == "add" and isinstance(value, dict):
            added = choice(list(self.members))
            value[added] = self.member(added)
        else:
            holder[key] = choice([*OTHER_VALUES, [value], {"x": value}])
        return document

    def other_path(self, path):
        """A path with a parameter less, or one more."""
        plain, _, params = path.partition("?")
        params = [pair for pair in params.split("&") if pair]
        if params and chance(0.4):
            params.remove(choice(params))
        elif self.params:
            key = choice(list(self.params))
            params.append(f"{key}={choice([*self.params[key], '', 'true', 'false', '-1', 'abc'])}")
        return plain + "?" * bool(params) + "&".join(params)


def walk(value):
    """The members and items of a value: what holds it, its key and the value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, item in items:
        yield value, key, item
        yield from walk(item)


def parts(body):
    """The documents of a body; nothing if it has others."""
    try:
        return [json.loads(line) for line in body.splitlines() if line]
    except ValueError:
        return None


def mutated(path, count):
    with open(path, encoding="utf-8") as file:
        recorded = [json.loads(line) for line in file]
    requests = [(request["method"], request["path"], request.get("body", "")) for request in recorded]
    pool = Pool(requests)
    for method, path, body in requests:
        yield f"{method} {path} {body.rstrip().replace(chr(10), ' ;; ')}"
        is_read = method == "GET" or any(read in path for read in READS)
        documents = parts(body)
        if not is_read or documents is None or any(text in path + body for text in LEFT_OUT):
            continue
        for _ in range(count):
            if documents and chance(0.85):
                number = random.randrange(len(documents))
                changed = [*documents]
                changed[number] = pool.other_body(changed[number])
                text = " ;; ".join(json.dumps(document, separators=(",", ":")) for document in changed)
                other = f"{method} {path} {text}"
            else:
                other = f"{method} {pool.other_path(path)} {body.rstrip().replace(chr(10), ' ;; ')}"
            if not any(text in other for text in LEFT_OUT):
                yield other


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    valid, mutate = ways.add_parser("valid"), ways.add_parser("mutate")
    mutate.add_argument("recorded", metavar="RECORDED")
    for way in (valid, mutate):
        way.add_argument("seed", type=int, metavar="SEED")
        way.add_argument("count", type=int, metavar="COUNT")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    if arguments.way == "mutate":
        cases = mutated(arguments.recorded, arguments.count)
    else:
        cases = [*documents(), *(search() for _ in range(arguments.count))]
    print("\n".join(cases))


if __name__ == "__main__":
    main()
