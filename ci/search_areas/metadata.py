"""Requests about indices: mappings, settings, aliases, statistics and _cat, with names, patterns and their options."""
from random import choice, randint, sample

from cases import KEYWORD, LONG, STRING, Area, case, chance, create_index, subset, weighted_choice

INDICES = ["", *"a1 a2 b1 a* _all * al none a1,a2 a1,none -a1 a*,-a1 af b* +a1".split()]
TYPES = "t u _all * t,u x t*".split()
INDEX_OPTIONS = {
    "ignore_unavailable": (0.35, ["true", "false"]),
    "allow_no_indices": (0.3, ["true", "false"]),
    "expand_wildcards": (0.35, ["open", "closed", "open,closed", "none", "all", "x"]),
}
NO_NAME = [""]
CLUSTER_STATES = [
    metric + index
    for metric in "metadata blocks routing_table version master_node metadata,blocks x _all nodes".split()
    for index in ["", "/a1", "/a*", "/none"]
]
# Method, path, values of {name} in the path, and parameters. {index} and {any_index} are one of INDICES with a slash
# before it. Without an index {index} is empty and {any_index} is /_all. {type} is one of TYPES.
ENDPOINTS = [
    ("GET", "{index}/_mapping{name}", ["", "/{type}"], ["local=true", "pretty=false"]),
    (
        "GET",
        "{any_index}/_mapping/{type}/field/{name}",
        ["s", "*", "o.*", "n,s", "d", "_all", "_ttl", "nope"],
        ["include_defaults=true"],
    ),
    ("GET", "{index}/_mapping/field/{name}", ["s", "o.d", "*.d", "_id", "_*"], ["include_defaults=true"]),
    (
        "GET",
        "{index}/_settings{name}",
        ["", "/index.number*", "/*", "/_all", "/index.refresh_interval", "/x"],
        ["flat_settings=true", "local=true"],
    ),
    ("GET", "{index}/_alias{name}", ["", "/al", "/a*", "/none", "/al,af", "/_all", "/*"], []),
    ("GET", "{index}/_aliases{name}", ["", "/al", "/a*", "/none"], []),
    ("HEAD", "{index}/_alias/{name}", ["al", "a*", "none", "al,none"], []),
    ("HEAD", "{any_index}", NO_NAME, []),
    ("HEAD", "{any_index}/{type}", NO_NAME, []),
    (
        "GET",
        "{any_index}{name}",
        ["", "/_mappings", "/_settings,_aliases", "/_warmers", "/_aliases", "/_mappings,_x"],
        ["flat_settings=true"],
    ),
    ("GET", "{index}/_count", NO_NAME, ["q=s:x", "min_score=0.5", "terminate_after=1"]),
    ("GET", "{index}/_search/exists", NO_NAME, ["q=s:x", "q=n:99"]),
    ("GET", "{index}/_validate/query", NO_NAME, ["q=s:x", "explain=true", "q=n:x", "rewrite=true"]),
    (
        "GET",
        "{index}/_stats{name}",
        ["/docs", "/docs,refresh", "/x", "/get", "/search", "/indexing/t"],
        ["level=shards", "level=cluster", "types=t", "groups=g", "human=true"],
    ),
    ("POST", "{index}/_refresh", NO_NAME, ["force=true"]),
    ("POST", "{index}/_flush", NO_NAME, ["force=true", "wait_if_ongoing=true"]),
    ("POST", "{index}/_cache/clear", NO_NAME, ["filter=true", "field_data=true", "fields=s"]),
    ("GET", "{index}/_segments", NO_NAME, []),
    ("GET", "/_cluster/state/{name}", CLUSTER_STATES, ["flat_settings=true"]),
    (
        "GET",
        "/_cluster/health{name}",
        ["", "/a1", "/a*", "/al"],
        ["level=indices", "level=shards", "timeout=1s", "wait_for_status=green", "local=true"],
    ),
    ("GET", "/_template{name}", ["", "/tpl", "/t*", "/none", "/tpl,none"], ["flat_settings=true", "local=true"]),
    ("HEAD", "/_template/{name}", ["tpl", "none", "t*"], []),
    ("GET", "{index}/_warmer{name}", ["", "/w", "/*"], []),
    ("GET", "{index}/_search_shards", NO_NAME, ["routing=1", "preference=_local"]),
    ("GET", "{index}/_recovery", NO_NAME, ["active_only=true", "detailed=true"]),
    (
        "GET",
        "{any_index}/t/1",
        NO_NAME,
        "fields=s _source=false routing=1 parent=1 realtime=false version=1 _source_include=s".split(),
    ),
]
CAT_TABLES = """indices/a* aliases count/a1 count health shards/a1 templates allocation fielddata plugins pending_tasks
master nodes thread_pool recovery/a1 segments/a1 aliases/a* indices/none""".split()
CAT_PARAMETERS = "help v h=index,docs.count h=i,dc h=x h=* bytes=b pri=true ts=false h=alias,index".split()
ANALYZE_PARAMETERS = """text=Foo field=s field=n analyzer=english tokenizer=keyword filters=lowercase format=text
field=t.s prefer_local=false""".split()
FIELD_STATS_LEVELS = ["", "&level=indices", "&level=cluster", "&level=x"]


def parameters(own):
    """Some of the parameters of an endpoint, and options of how its indices are resolved."""
    found = [parameter for parameter in own if chance(0.3)]
    found += [f"{name}={choice(values)}" for name, (share, values) in INDEX_OPTIONS.items() if chance(share)]
    return "?" + "&".join(found) if found else ""


def filled(path, name=""):
    """A path with an index, a type and a name in the places for them."""
    index = choice(INDICES)
    path = path.replace("{name}", name)
    return path.format(index=index and f"/{index}", any_index=f"/{index or '_all'}", type=choice(TYPES))


def endpoint():
    method, path, names, own_parameters = choice(ENDPOINTS)
    return case(method, filled(path, choice(names)) + parameters(own_parameters))


def count():
    path = filled("{any_index}/{type}/_count") + parameters([])
    return case("GET", path, {"query": {"match": {"s": "x"}}})


def cat():
    return case("GET", f"/_cat/{choice(CAT_TABLES)}?{'&'.join(sample(CAT_PARAMETERS, randint(0, 2)))}")


def field_stats():
    fields = choice(["s", "n", "n,s", "nope", "*"])
    return case("GET", filled("{index}/_field_stats") + f"?fields={fields}{choice(FIELD_STATS_LEVELS)}")


def analyze():
    return case("GET", filled("{index}/_analyze") + "?" + "&".join(subset(ANALYZE_PARAMETERS, 3)))


def documents():
    """Two open indices with documents and aliases, a closed index and a template."""
    date = {"properties": {"d": {"type": "date"}}}
    filtered = {"filter": {"term": {"s": "x"}}, "routing": "1"}
    index = {
        "settings": {"number_of_shards": 2, "number_of_replicas": 0},
        "aliases": {"al": {}, "af": filtered},
        "warmers": {},
        "mappings": {"t": {"properties": {"s": STRING, "o": date}}, "u": {"_parent": {"type": "t"}}},
    }
    yield case("PUT", "/a1", index)
    yield create_index("a2", t={"_ttl": {"enabled": True}, "properties": {"s": KEYWORD, "n": LONG}})
    settings = {"number_of_shards": 1, "number_of_replicas": 0, "index.refresh_interval": "30s"}
    yield case("PUT", "/b1", {"settings": settings})
    yield case("POST", "/b1/_close")
    yield case("PUT", "/_template/tpl", {"template": "zz*", "order": 3, "settings": {"number_of_shards": 1}})
    for number in range(6):
        yield case("PUT", f"/a{1 + number % 2}/t/{number}?refresh=true", {"s": "x y", "n": number})


def metadata():
    # Every endpoint has the same probability.
    ways = {endpoint: len(ENDPOINTS), count: 1, cat: 1, field_stats: 1, analyze: 1}
    yield weighted_choice(ways)()


AREAS = [Area("metadata", "mappings, settings, aliases, statistics and _cat of several indices", documents, metadata)]
