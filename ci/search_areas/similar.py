"""Queries by words of documents: more_like_this, multi_match, common terms and highlights.

The fields have analyzers with synonyms, shingles, stop words and word delimiters.
"""
from random import choice, randint

from cases import BOOLEANS, KEYWORD, LONG, Area, case, chance, create_index, maybe, repeated, search, sentence, some
from cases import subset, validate, weighted_choice

WORDS = """alpha beta gamma delta quick fast fox wifi wi fi new york ny the a dogs running jumps over lazy x1 y2
usa united states""".split()
ANALYSIS = {
    "tokenizer": {"tk": {"type": "standard"}},
    "filter": {
        "syn": {
            "type": "synonym",
            "synonyms": [
                "quick,fast,speedy",
                "wi fi => wifi",
                "ny, new york",
                "usa,united states",
                "dogs => dog, hound",
            ],
        },
        "sh": {"type": "shingle", "max_shingle_size": 2},
        "st": {"type": "stop", "stopwords": ["the", "a", "over"]},
        "wd": {"type": "word_delimiter", "catenate_all": True, "preserve_original": True},
    },
    "analyzer": {
        "syn": {"tokenizer": "standard", "filter": ["lowercase", "syn"]},
        "shi": {"tokenizer": "standard", "filter": ["lowercase", "sh"]},
        "sto": {"tokenizer": "standard", "filter": ["lowercase", "st"]},
        "wds": {"tokenizer": "whitespace", "filter": ["wd", "lowercase"]},
    },
}
SHINGLES = {"type": "string", "analyzer": "shi", "term_vector": "with_positions_offsets"}
PROPERTIES = {
    "s": {"type": "string", "analyzer": "syn", "term_vector": "with_positions_offsets"},
    "u": {"type": "string", "index_analyzer": "standard", "search_analyzer": "syn"},
    "h": {"type": "string", "analyzer": "shi", "index_options": "offsets"},
    "o": {"type": "string", "analyzer": "sto", "store": True, "term_vector": "yes"},
    "w": {"type": "string", "analyzer": "wds"},
    "k": KEYWORD,
    "n": LONG,
    "m": {"type": "string", "fields": {"raw": KEYWORD, "sh": SHINGLES}},
}
FIELDS = "s u h o w m m.raw m.sh k _all n nope s^2 m*".split()
STRING_FIELDS = "s u h o w m m.sh k".split()
LIKE_FIELDS = "s u h o w m m.sh k _all n".split()
HIGHLIGHT_FIELDS = "s u h o w m m.sh k * m.raw".split()
MULTI_MATCH_FIELDS = [field for field in FIELDS if field != "n"]

LIKE_FREQUENCIES = {"min_term_freq": [1, 1, 2], "min_doc_freq": [1, 1, 2, 3]}
LIKE_SETTINGS = {
    "max_query_terms": [1, 3, 10],
    "minimum_should_match": ["50%", 1, 2, "-1", "0%"],
    "percent_terms_to_match": [0.1, 0.5, 0],
    "max_doc_freq": [5, 10],
    "min_word_length": [3, 5],
    "max_word_length": [4],
    "boost_terms": [0, 1, 2.5],
    "stop_words": [["quick"], ["fox", "dogs"]],
    "analyzer": ["standard", "shi", "syn", "nope"],
    "boost": [2],
    "include": BOOLEANS,
    "fail_on_unsupported_field": BOOLEANS,
    "exclude": BOOLEANS,
}
LIKE_PARAMETERS = {
    "min_term_freq": [1],
    "min_doc_freq": [1],
    "mlt_fields": ["s", "s,u", "h,o", "k"],
    "search_size": [3],
    "max_query_terms": [2],
    "percent_terms_to_match": [0.2],
    "include": ["true"],
    "boost_terms": [1.5],
    "search_from": [1],
    "search_types": ["t"],
    "min_word_length": [4],
    "max_doc_freq": [8],
    "stop_words": ["fox"],
}
MULTI_MATCH_TYPES = ["best_fields", "most_fields", "cross_fields", "phrase", "phrase_prefix"]
MULTI_MATCH_SETTINGS = {
    "operator": ["and", "or"],
    "minimum_should_match": [1, 2, "50%", "-1"],
    "tie_breaker": [0, 0.3, 1],
    "analyzer": ["standard", "shi", "syn"],
    "fuzziness": [1, "AUTO"],
    "slop": [1, 2],
    "max_expansions": [1, 5],
    "cutoff_frequency": [0.1, 2],
    "zero_terms_query": ["all", "none"],
    "prefix_length": [1],
    "use_dis_max": BOOLEANS,
    "boost": [1.5],
    "lenient": [True],
}
COMMON_SETTINGS = {
    "low_freq_operator": ["and", "or"],
    "high_freq_operator": ["and", "or"],
    "minimum_should_match": [1, "50%", {"low_freq": 1, "high_freq": 2}, {"low_freq": "50%"}],
    "analyzer": ["standard", "shi", "syn"],
    "boost": [2],
    "disable_coord": BOOLEANS,
}
MATCH_SETTINGS = {
    "operator": ["and"],
    "minimum_should_match": [2, "60%"],
    "analyzer": ["syn", "shi", "sto"],
    "fuzziness": [1],
    "type": ["phrase", "phrase_prefix"],
}
QUERY_STRINGS = ["%s", '"%s"', '"%s"~2', "s:%s", "+(%s) fox", "%s -dogs", 'm:"%s" OR qu*']
QUERY_STRING_SETTINGS = {
    "default_field": ["s", "u", "w", "o"],
    "fields": [["s", "u"], ["m*", "o^2"]],
    "default_operator": ["and"],
    "auto_generate_phrase_queries": [True],
}
# The highlighters of the fields that have positions and offsets. Other fields have the plain one.
HIGHLIGHTERS = {"s": ["plain", "fvh"], "h": ["plain", "postings"], "m.sh": ["plain", "fvh"]}
HIGHLIGHT_SETTINGS = {
    "number_of_fragments": [0, 1, 3],
    "fragment_size": [5, 18, 30, 100],
    "no_match_size": [10, 20],
    "order": ["score"],
    "require_field_match": BOOLEANS,
    "fragmenter": ["simple", "span"],
    "boundary_max_scan": [3, 20],
    "fragment_offset": [0, 5],
    "phrase_limit": [1, 50],
}


def words(most):
    return sentence(WORDS, most)


def passage():
    """Words with different separators."""
    return "".join(repeated(13, lambda: choice(WORDS) + choice([" ", " ", ". ", "-", ", "]))).rstrip(" ,.-")


def doc_type():
    return choice("tttu")


def document():
    found = {field: passage() for field in "suhowm" if chance(0.8)}
    found |= some(0.5, {"k": WORDS, "n": range(9)})
    return found | maybe(0.2, {"s": [words(5), words(5)]})


def documents():
    yield create_index("idx", PROPERTIES, ANALYSIS, u={"properties": PROPERTIES})
    for number in range(30):
        yield case("PUT", f"/idx/{doc_type()}/{number}", document())
    yield case("POST", "/idx/_refresh")


def like_document():
    """A stored document by its id, or one of the request."""
    if chance(0.7):
        found = {"_id": str(randint(0, 31))} | some(0.5, {"_type": "tu"}) | some(0.3, {"_index": ["idx"]})
    else:
        found = {"doc": {"s": passage(), "u": words(7)}, "_type": "t", "_index": "idx"}
    return found | maybe(0.2, {"fields": subset(FIELDS, 2)})


def more_like_this():
    like = weighted_choice(
        {
            lambda: {choice(["like_text", "like_text", "like"]): passage()}: 4,
            lambda: {"ids": repeated(2, lambda: str(randint(0, 33)))}: 2,
            lambda: {"docs": repeated(2, like_document)}: 3,
            lambda: {"like_text": words(5), "ids": ["3"]}: 1,
        }
    )()
    fields = subset(LIKE_FIELDS if chance(0.9) else FIELDS, 3)
    settings = maybe(0.8, {"fields": fields}) | some(0.45, LIKE_FREQUENCIES) | some(0.15, LIKE_SETTINGS)
    return {choice(["more_like_this", "mlt"]): like | settings}


def multi_match():
    fields = subset(MULTI_MATCH_FIELDS if chance(0.85) else FIELDS, 4)
    settings = some(0.5, {"type": MULTI_MATCH_TYPES}) | some(0.2, MULTI_MATCH_SETTINGS)
    return {"multi_match": {"query": words(4), "fields": fields} | settings}


def common():
    settings = some(0.5, {"cutoff_frequency": [0.1, 0.3, 3, 1, 0.0]}) | some(0.2, COMMON_SETTINGS)
    return {"common": {choice("suhowmk"): {"query": words(5)} | settings}}


def match():
    return {"match": {choice(STRING_FIELDS): {"query": words(4)} | some(0.25, MATCH_SETTINGS)}}


def match_phrase():
    settings = some(0.25, {"slop": [1, 3], "analyzer": ["syn", "shi", "sto"]})
    return {"match_phrase": {choice(STRING_FIELDS): {"query": words(4)} | settings}}


def match_phrase_prefix():
    settings = some(0.25, {"slop": [1], "max_expansions": [1, 3]})
    return {"match_phrase_prefix": {choice(STRING_FIELDS): {"query": words(3)} | settings}}


def query_string():
    return {"query_string": {"query": choice(QUERY_STRINGS) % words(4)} | some(0.3, QUERY_STRING_SETTINGS)}


def combined():
    field = choice(STRING_FIELDS)
    should = [{"match_phrase": {"s": words(2)}}, {"prefix": {field: choice(["q", "do", "al"])}}]
    return {"bool": {"must": [{"match": {field: words(2)}}], "should": should}}


QUERIES = {
    match: 20,
    match_phrase: 15,
    match_phrase_prefix: 10,
    query_string: 15,
    common: 10,
    multi_match: 15,
    more_like_this: 8,
    combined: 7,
}


def query():
    return weighted_choice(QUERIES)()


def highlighted_field(field):
    settings = some(0.5, {"type": HIGHLIGHTERS.get(field, ["plain"])}) | some(0.15, HIGHLIGHT_SETTINGS)
    if settings.get("type") == "fvh":
        settings |= some(0.15, {"matched_fields": [["m", "m.sh"] if field == "m.sh" else ["s"]]})
    return settings


def highlight():
    fields = {field: highlighted_field(field) for field in subset(HIGHLIGHT_FIELDS, 3)}
    settings = some(0.15, {"require_field_match": BOOLEANS, "encoder": ["html"], "tags_schema": ["styled"]})
    return {"fields": fields} | settings


def highlighted():
    return search({"query": query(), "fields": [], "size": 20, "highlight": highlight()})


def like_by_id():
    params = "&".join(f"{name}={value}" for name, value in some(0.4, LIKE_PARAMETERS).items())
    return case("GET", f"/idx/{doc_type()}/{randint(0, 31)}/_mlt?{params}")


def search_or_validate(query_of):
    if chance(0.35):
        return validate(query_of())
    return search({"query": query_of(), "fields": [], "size": 30} | maybe(0.12, {"explain": True}))


def similar():
    way = weighted_choice({more_like_this: 22, multi_match: 14, common: 8, highlighted: 31, like_by_id: 10, query: 15})
    yield way() if way in (highlighted, like_by_id) else search_or_validate(way)


AREAS = [Area("similar", "more_like_this, multi_match, common terms, highlights, with synonyms", documents, similar)]
