"""Span queries, geo filters and function_score queries of the same documents."""
from random import choice, randint, sample, uniform

from cases import BOOLEANS, KEYWORD, LONG, STRING, Area, case, chance, create_index, maybe, repeated, search, sentence
from cases import some, validate, weighted_choice

WORDS = "alpha beta gamma delta eps zeta".split()
PROPERTIES = {
    "s": STRING,
    "k": KEYWORD,
    "e": {"type": "string", "analyzer": "english"},
    "n": LONG,
    "d": {"type": "date"},
    "p": {"type": "geo_point"},
}
DISTANCES = "1000km,500mi,5000,1e3km,200nmi,10 km,3000kilometers,5000 yd,1km,20000km,x,-5km,2000M".split(",")
DISTANCES.append(7000000)
BOUNDS = "from to gt gte lt lte include_lower include_upper".split()
# Settings of geo filters, most of which the filter at hand does not have, and their values.
GEO_SETTINGS = """distance_type optimize_bbox unit _cache _name validate normalize coerce ignore_malformed type
unknown""".split()
GEO_VALUES = ["plane", "arc", "sloppy_arc", "memory", "indexed", "none", "km", "mi", True, False]
MODIFIERS = "none log log1p log2p ln ln1p ln2p square sqrt reciprocal LOG x".split()
SCORE_SETTINGS = {
    "score_mode": "multiply sum avg first max min x".split(),
    "boost_mode": "multiply replace sum avg max min x".split(),
}


def documents():
    yield create_index("idx", PROPERTIES)
    for number in range(30):
        document = {
            "s": sentence(WORDS, 11),
            "k": choice(WORDS),
            "e": sentence(WORDS, 4),
            "n": randint(0, 19),
            "d": f"2016-01-{number + 1:02}",
            "p": {"lat": uniform(-60, 60), "lon": uniform(-170, 170)},
        }
        yield case("PUT", f"/idx/t/{number}", document)
    yield case("POST", "/idx/_refresh")


def search_or_validate(query):
    return validate(query) if chance(0.35) else search({"query": query, "fields": [], "size": 40})


def span_term():
    word = choice(WORDS)
    value = choice([word, {"value": word}, {"term": word, "boost": choice([1, 2, 0.5])}])
    return {"span_term": {choice("s s s k e nope".split()): value}}


def span_multi():
    query = choice(
        [
            {"prefix": {"s": choice(["al", "b", "g", "z", "x"])}},
            {"wildcard": {"s": choice(["*a", "?eta", "a*", "*"])}},
            {"fuzzy": {"s": {"value": "beta", "fuzziness": choice([1, 2])}}},
            {"regexp": {"s": choice(["[ab].*", "g.+a", "z.t."])}},
            {"range": {"s": {"gte": "b", "lt": "e"}}},
            {"term": {"s": "alpha"}},
        ]
    )
    return {"span_multi": {"match": query}}


def span_near(depth):
    settings = {"slop": choice([0, 1, 2, 5, -1, 100])} | some(0.6, {"in_order": BOOLEANS})
    settings |= some(0.2, {"collect_payloads": [False]}) | some(0.1, {"boost": [2]})
    return {"span_near": {"clauses": repeated(3, lambda: span(depth))} | settings}


def span_not(depth):
    distance = maybe(0.4, {choice(["dist", "pre", "post"]): choice([0, 1, 2])})
    return {"span_not": {"include": span(depth), "exclude": span(depth)} | distance}


def span(depth=0):
    """A span query; one without others from the fourth level on."""
    if depth > 2:
        return span_term()
    inner = depth + 1
    return weighted_choice(
        {
            span_term: 35,
            span_multi: 7,
            lambda: span_near(inner): 23,
            lambda: {"span_or": {"clauses": repeated(3, lambda: span(inner))}}: 10,
            lambda: {"span_first": {"match": span(inner), "end": choice([0, 1, 2, 3, 10])}}: 10,
            lambda: span_not(inner): 10,
            lambda: {"field_masking_span": {"query": span(inner), "field": choice(["s", "k"])}}: 5,
        }
    )()


def spans():
    yield search_or_validate(span())


def point():
    return choice(
        [
            {"lat": choice([10, -20.5, 89, 91, 0]), "lon": choice([10, -120, 179, 181, 0])},
            [choice([10, -20, 0]), choice([5, -45, 60])],
            f"{choice([10, -20, 0])},{choice([5, -45])}",
            choice(["u09", "s", "ezs42", "a"]),
        ]
    )


def geo_distance():
    return {"geo_distance": {"distance": choice(DISTANCES), "p": point()}}


def geo_distance_range():
    bounds = {bound: choice(BOOLEANS if "include" in bound else DISTANCES) for bound in sample(BOUNDS, randint(1, 3))}
    return {"geo_distance_range": {"p": point()} | bounds}


def geo_bounding_box():
    sides = {"top": choice([60, -10]), "left": choice([-100, 170]), "bottom": -30, "right": choice([100, -170])}
    corners = [
        {"top_left": point(), "bottom_right": point()},
        {"top_right": point(), "bottom_left": point()},
        {"topLeft": point(), "bottomRight": point()},
        {"top_left": point()},
    ]
    return {"geo_bounding_box": {"p": choice([sides, *corners])}}


def geo_polygon():
    return {"geo_polygon": {"p": {"points": repeated(5, point)}}}


def geohash_cell():
    cell = {"p": point(), "precision": choice([1, 3, "50km", "x"]), "neighbors": choice(BOOLEANS)}
    return {"geohash_cell": cell}


def geo_filter():
    kinds = {geo_distance: 35, geo_distance_range: 20, geo_bounding_box: 25, geo_polygon: 12, geohash_cell: 8}
    [(name, settings)] = weighted_choice(kinds)().items()
    return {name: settings | maybe(0.35, {choice(GEO_SETTINGS): choice(GEO_VALUES)})}


def sort_by_distance():
    settings = {
        "p": choice(["10,20", [20, 10], {"lat": 1, "lon": 2}]),
        "order": choice(["asc", "desc"]),
        "unit": choice(["km", "mi", "m"]),
        "distance_type": choice(["arc", "plane", "sloppy_arc"]),
    }
    return [{"_geo_distance": settings}]


def geo():
    body = {"query": {"filtered": {"filter": geo_filter()}}, "fields": [], "size": 40}
    yield search(body | maybe(0.3, {"sort": sort_by_distance()}))


def field_value_factor():
    factor = {"field": choice(["n", "nope", "s"]), "factor": choice([1.2, 0]), "modifier": choice(MODIFIERS)}
    return {"field_value_factor": factor}


def script_score():
    script = choice(["_score*2", "doc['n'].value+1", "_score*doc['n'].value"])
    return {"script_score": {"script": script, "lang": "expression"}}


def decay(settings):
    return {choice(["gauss", "linear", "exp"]): settings}


def number_decay():
    scale = {"origin": choice([5, 10, "7"]), "scale": choice([2, 5, 0])}
    return decay({"n": scale | {"offset": choice([0, 1]), "decay": choice([0.5, 0.1, 1.5])}})


def date_decay():
    origin = choice(["2016-01-10", "now", "2016-01-10||+1d"])
    return decay({"d": {"origin": origin, "scale": choice(["2d", "5d", "x"]), "offset": choice(["0d", "1d"])}})


def point_decay():
    scale = {"origin": "10,20", "scale": choice(["1000km", "5000mi"])}
    return decay({"p": scale, "multi_value_mode": choice(["min", "avg", "max"])})


FUNCTIONS = [
    lambda: {"weight": choice([2, 0.5, 0, -1])},
    lambda: {"boost_factor": 3},
    lambda: {"random_score": {"seed": choice([1, 2, "a"])}},
    field_value_factor,
    script_score,
    number_decay,
    date_decay,
    point_decay,
]


def function():
    filters = [{"term": {"s": "alpha"}}, {"range": {"n": {"gte": 10}}}, {"match_all": {}}]
    return choice(FUNCTIONS)() | some(0.4, {"filter": filters}) | some(0.3, {"weight": [2, 0.1, 3]})


def function_score():
    if chance(0.2):
        found = {"filter": {"term": {"s": "beta"}}}
    else:
        found = {"query": choice([{"match": {"s": "alpha beta"}}, {"match_all": {}}])}
    if chance(0.25):
        found |= function()
    else:
        found["functions"] = [function() for _ in range(randint(0, 3))]
    found |= some(0.5, SCORE_SETTINGS) | some(0.3, {"max_boost": [1, 3, 100]})
    return {"function_score": found | some(0.2, {"boost": [2, 0.5], "min_score": [0.5, 1, 5]})}


def functions():
    yield search_or_validate(function_score())


AREAS = [
    Area("spans", "span queries within others", documents, spans),
    Area("geo", "geo filters and sorts by distance", documents, geo),
    Area("functions", "function_score queries", documents, functions),
]
