"""Documents by their ids: term vectors, multi term vectors, explanations, get with fields and source filters."""
from random import choice, randint, sample

from cases import BOOLEANS, KEYWORD, STRING, Area, case, chance, create_index, maybe, repeated, sentence, some, subset
from cases import weighted_choice

WORDS = "quick brown fox the lazy dogs running Wi-Fi café 10.0.0.1 x1 foo_bar new york ny".split()
ANALYSIS = {
    "filter": {"syn": {"type": "synonym", "synonyms": ["ny,new york", "quick,fast"]}},
    "analyzer": {
        "sy": {"tokenizer": "standard", "filter": ["lowercase", "syn"], "position_offset_gap": 7},
        "ng": {"type": "custom", "tokenizer": "ng"},
    },
    "tokenizer": {"ng": {"type": "nGram", "min_gram": 2, "max_gram": 3}},
}
PROPERTIES = {
    "s": {"type": "string", "term_vector": "with_positions_offsets"},
    "y": {"type": "string", "term_vector": "yes", "analyzer": "sy"},
    "p": {"type": "string", "term_vector": "with_positions", "analyzer": "english"},
    "o": {"type": "string", "term_vector": "with_offsets", "store": True, "position_offset_gap": 10},
    "pl": {"type": "string", "term_vector": "with_positions_offsets_payloads", "analyzer": "whitespace"},
    "n": STRING,
    "k": KEYWORD,
    "i": {"type": "integer"},
    "d": {"type": "date"},
    "b": {"type": "boolean"},
    "g": {"type": "string", "analyzer": "ng", "index_options": "docs"},
    "m": {
        "type": "string",
        "analyzer": "sy",
        "fields": {
            "e": {"type": "string", "analyzer": "english", "term_vector": "yes"},
            "raw": KEYWORD | {"ignore_above": 20},
        },
    },
    "no": {"type": "string", "index": "no"},
    "ob": {"properties": {"x": {"type": "string", "term_vector": "with_positions"}, "y": {"type": "integer"}}},
    "c": {"type": "string", "copy_to": ["s"]},
}
WITHOUT_SOURCE = {
    "_source": {"enabled": False},
    "_all": {"store": True, "term_vector": "yes"},
    "properties": {field: PROPERTIES[field] for field in "soni"},
}
WITHOUT_ALL = {
    "_all": {"enabled": False},
    "properties": {"s": PROPERTIES["s"], "q": {"type": "string", "store": True}},
}
# The fields that a document of a type has at times.
FIELDS_OF_TYPES = {"t": [*PROPERTIES], "u": "soni", "v": "s"}
FIELDS = [*PROPERTIES, *"m.e m.raw ob.x ob.y nope _all * m* ob.* _source _uid _id".split()]
OPTIONS = "offsets positions payloads term_statistics field_statistics".split()
ANALYZERS = "keyword sy english standard nope".split()
VECTOR_PARAMETERS = ["realtime=false", "routing=x", "preference=_local", "dfs=true"]
EXPLAIN_PARAMETERS = """fields=s,i _source=false _source=s* _source_include=s&_source_exclude=i fields=o,_source
fields=_routing lenient=true analyze_wildcard=true df=n""".split()
QUERY_STRINGS = "fox s:quick n:the~ y:ny i:>3 %22new%20york%22 *".split()
SOURCE_PARAMETERS = ["", *"_source=false _source=s,m _source_include=m* _source_exclude=s _source=true".split()]
GET_PARAMETERS = [
    "",
    *"realtime=false refresh=true version=1 version=9 _source_transform=true routing=z preference=_primary".split(),
]


def words(most):
    return sentence(WORDS, most)


def text():
    """One text; at times two of them, or an empty value."""
    empty = [None, "", [], ["", words(2)]]
    return weighted_choice({lambda: words(5): 82, lambda: [words(5), words(3)]: 15, lambda: choice(empty): 3})()


# Values of the fields that are not texts.
VALUES = {
    "i": lambda: randint(0, 8),
    "d": lambda: f"2016-01-0{randint(1, 8)}",
    "b": lambda: choice(BOOLEANS),
    "ob": lambda: {"x": words(3), "y": randint(0, 4)},
}


def document(doc_type="t"):
    found = {field: VALUES.get(field, text)() for field in FIELDS_OF_TYPES[doc_type] if chance(0.5)}
    return found | ({"q": words(4)} if doc_type == "v" else {})


def documents():
    yield create_index("idx", PROPERTIES, ANALYSIS, u=WITHOUT_SOURCE, v=WITHOUT_ALL)
    for number in range(14):
        doc_type = choice("tttuv")
        yield case("PUT", f"/idx/{doc_type}/{number}", document(doc_type))
    yield case("POST", "/idx/_refresh")


def document_id():
    """The id of a document, at times of none."""
    return str(randint(0, 14))


def document_path(doc_types="tttuv"):
    """The path of a document, often of none, because the type is another one."""
    return f"/idx/{choice(doc_types)}/{document_id()}"


def with_parameters(path, parameters):
    """A path with those parameters that are not empty."""
    found = "&".join(filter(None, parameters))
    return f"{path}?{found}" if found else path


def fields():
    return subset(FIELDS, 3)


def fields_parameter():
    return "fields=" + ",".join(fields())


def vector_parameters():
    options = [f"{option}={choice(['true', 'false'])}" for option in sample(OPTIONS, 2)]
    other = [choice(VECTOR_PARAMETERS)]
    return options * chance(0.3) + [fields_parameter()] * chance(0.12) + other * chance(0.08)


def term_vector():
    """The term vector of a stored document, or of one of the request."""
    body = maybe(0.6, {"fields": fields()}) | some(0.3, dict.fromkeys(OPTIONS, BOOLEANS))
    body |= maybe(0.12, {"per_field_analyzer": {choice([*PROPERTIES]): choice(ANALYZERS)}})
    path = document_path()
    if chance(0.4):
        body["doc"] = document()
        path = "/idx/t"
    return case("GET", with_parameters(f"{path}/_termvector", vector_parameters()), body)


def vector_item():
    found = {"doc": document()} if chance(0.3) else {"_id": document_id()}
    found |= some(0.8, {"_type": "ttuv"}) | maybe(0.5, {"fields": fields()})
    return found | maybe(0.2, {choice(OPTIONS): choice(BOOLEANS)}) | some(0.1, {"_index": ["idx", "none"]})


def multi_term_vectors():
    if chance(0.2):
        parameters = {"fields": fields(), "term_statistics": True}
        body = {"ids": [document_id(), document_id()], "parameters": parameters}
    else:
        body = {"docs": repeated(3, vector_item)}
    return case("POST", f"/idx{choice(['', '/t', '/t'])}/_mtermvectors", body)


def match(field, most):
    return {"match": {field: words(most)}}


def combined():
    return {
        "bool": {
            "must": [match("s", 2)],
            "must_not": [{"term": {"k": "fox"}}],
            "should": [{"prefix": {"n": "qu"}}],
        }
    }


def dis_max():
    return {"dis_max": {"queries": [match("s", 2), match("p", 2)], "tie_breaker": 0.3}}


def span_near():
    clauses = [{"span_term": {"s": "quick"}}, {"span_term": {"s": "fox"}}]
    return {"span_near": {"clauses": clauses, "slop": 5}}


def boosting():
    return {"boosting": {"positive": match("s", 3), "negative": {"term": {"s": "the"}}, "negative_boost": 0.2}}


def function_score():
    factor = {"field_value_factor": {"field": "i", "modifier": "ln1p"}}
    mode = {"boost_mode": choice(["multiply", "sum", "replace"])}
    return {"function_score": {"query": match("s", 2)} | factor | mode}


def multi_match():
    kind = choice(["best_fields", "most_fields", "cross_fields"])
    return {"multi_match": {"query": words(2), "fields": ["s", "n^2"], "type": kind}}


QUERIES = [
    lambda: match(choice("s y p o pl n k i".split()), 3),
    lambda: {"match_phrase": {"y": words(3)}},
    lambda: {"query_string": {"query": words(3)}},
    combined,
    lambda: {"range": {"i": {"gte": 3}}},
    lambda: {"ids": {"values": ["1", "3", "5"]}},
    lambda: {"match_all": {"boost": 2}},
    lambda: {"filtered": {"query": match("n", 2), "filter": {"exists": {"field": "i"}}}},
    lambda: {"constant_score": {"filter": {"term": {"b": True}}}},
    lambda: {"fuzzy": {"s": "qick"}},
    lambda: {"wildcard": {"m.raw": "*o*"}},
    dis_max,
    span_near,
    boosting,
    function_score,
    lambda: {"common": {"s": {"query": words(4), "cutoff_frequency": 0.3}}},
    multi_match,
]


def explain():
    path = f"{document_path()}/_explain"
    parameters = [choice(EXPLAIN_PARAMETERS)] * chance(0.35)
    if chance(0.2):
        return case("GET", with_parameters(path, [f"q={choice(QUERY_STRINGS)}", *parameters]))
    return case("GET", with_parameters(path, parameters), {"query": choice(QUERIES)()})


def get():
    path = document_path(["t", "t", "u", "v", "_all"]) + choice(["", "", "/_source"])
    stored = choice(["", fields_parameter(), "fields=o,q,s"])
    return case("GET", with_parameters(path, [stored, choice(SOURCE_PARAMETERS), choice(GET_PARAMETERS)]))


def vectors():
    yield weighted_choice({term_vector: 45, multi_term_vectors: 15, explain: 25, get: 15})()


AREAS = [Area("vectors", "term vectors, _explain, get with fields and source filters", documents, vectors)]
