"""Analyzers of a tokenizer, token filters and character filters with random settings.

Each analyzer is compared by _analyze, by a term vector, by the Lucene queries of some words and by highlights.
"""
from random import choice, randint

from cases import BOOLEANS, Area, case, chance, create_index, maybe, search, sentence, some, subset, validate
from cases import weighted_choice

WORDS = """quick Quick fast fox the a b c x1 Wi-Fi wifi wi fi USA united states new york foo bar foo-bar fooBar FOO_BAR
dog's dogs running l'avion café 10.0.0.1 500-42 $5.00 user@ex.org http://a.b/c?d=1 /a/b/c football <b>quick</b> &amp;
one, two. 東京都 ab12CD O'Neil's""".split()
SYNONYMS = [
    "quick,fast,speedy",
    "wi fi => wifi",
    "wifi,wi fi",
    "usa,united states,us",
    "new york => ny, big apple",
    "dog,hound => canine",
    "a b c,abc",
    "foo,foo bar",
    "foo bar,foo baz",
    "x1,x 1",
    "the,ze",
]


def switches(*names):
    return some(0.35, dict.fromkeys(names, BOOLEANS))


def token_length():
    return some(0.2, {"max_token_length": [3, 5, 10]})


def grams():
    least = choice([1, 2, 3])
    return {"min_gram": least, "max_gram": least + choice([0, 1, 2])}


def gram_tokenizer():
    classes = subset(["letter", "digit", "whitespace", "punctuation", "symbol"], 2)
    return grams() | maybe(0.5, {"token_chars": classes})


TOKENIZERS = {
    "standard": token_length,
    "whitespace": token_length,
    "letter": token_length,
    "uax_url_email": token_length,
    "classic": token_length,
    "keyword": dict,
    "lowercase": dict,
    "nGram": gram_tokenizer,
    "edgeNGram": gram_tokenizer,
    "path_hierarchy": lambda: some(
        0.35, {"delimiter": ["/", "-", " "], "reverse": [True], "skip": [1], "replacement": ["_"]}
    ),
    "pattern": lambda: (
        some(0.7, {"pattern": ["\\W+", "-", "[ ,]+", "(\\w)(\\d)", "\\s"]}) | some(0.3, {"group": [0, -1]})
    ),
}
# The types of token filters without settings.
PLAIN_FILTERS = "lowercase uppercase reverse trim porter_stem cjk_width apostrophe classic standard".split()
TOKEN_FILTERS = {
    "word_delimiter": lambda: (
        switches("generate_word_parts", "generate_number_parts", "catenate_words", "catenate_numbers", "catenate_all")
        | switches("split_on_case_change", "preserve_original", "split_on_numerics", "stem_english_possessive")
        | maybe(0.15, {"protected_words": ["Wi-Fi", "foo-bar"]})
        | some(
            0.15,
            {"type_table": [["- => ALPHA"], ["$ => DIGIT", "% => DIGIT"], [". => DIGIT"], ["\\u002D => ALPHANUM"]]},
        )
    ),
    "synonym": lambda: (
        {"synonyms": subset(SYNONYMS, 4)}
        | switches("expand", "ignore_case")
        | some(0.2, {"tokenizer": ["standard", "keyword"]})
    ),
    "shingle": lambda: (
        some(0.6, {"min_shingle_size": [2, 3], "max_shingle_size": [2, 3, 4]})
        | switches("output_unigrams", "output_unigrams_if_no_shingles")
        | some(0.3, {"token_separator": ["", "_", "+"], "filler_token": ["", "#"]})
    ),
    "stop": lambda: (
        some(0.6, {"stopwords": [["quick", "the"], ["a", "b"], "_english_", "_none_", ["FOX"]]})
        | maybe(0.6, switches("ignore_case", "remove_trailing"))
    ),
    "nGram": grams,
    "edgeNGram": lambda: grams() | some(0.3, {"side": ["front", "back"]}),
    "asciifolding": lambda: switches("preserve_original"),
    "length": lambda: {"min": choice([0, 2, 4]), "max": choice([4, 6, 20])},
    "unique": lambda: switches("only_on_same_position"),
    "limit": lambda: {"max_token_count": choice([1, 2, 3])} | switches("consume_all_tokens"),
    "truncate": lambda: {"length": choice([1, 3, 5])},
    "snowball": lambda: {"language": choice(["English", "German", "French", "Porter"])},
    "stemmer": lambda: {
        "language": choice(["english", "possessive_english", "german", "light_german", "minimal_english"])
    },
    "keyword_marker": lambda: {"keywords": ["running", "dogs"]} | switches("ignore_case"),
    "keyword_repeat": dict,
    "stemmer_override": lambda: {"rules": choice([["running => run"], ["dogs => dogz", "mice => mouse"]])},
    "elision": lambda: {"articles": ["l", "d"]},
    "common_grams": lambda: (
        {"common_words": choice([["the", "a"], ["quick", "of"]])} | switches("ignore_case", "query_mode")
    ),
    "dictionary_decompounder": lambda: (
        {"word_list": choice([["foot", "ball", "quick"], ["wi", "fi", "fox"]])}
        | switches("only_longest_match")
        | maybe(0.3, {"min_word_size": 3, "min_subword_size": 2, "max_subword_size": 5})
    ),
    "pattern_capture": lambda: (
        {"patterns": choice([["(\\w)(\\w+)"], ["([a-z]+)", "(\\d+)"], ["(.+)-(.+)"]])} | switches("preserve_original")
    ),
    "pattern_replace": lambda: {
        "pattern": choice(["o", "(\\w)x", "^q", "\\d"]),
        "replacement": choice(["", "_", "00"]),
    },
    "cjk_bigram": lambda: switches("output_unigrams"),
    "keep": lambda: {"keep_words": ["quick", "fox", "wifi"]} | switches("keep_words_case"),
    "keep_types": lambda: {
        "types": choice([["<NUM>"], ["<ALPHANUM>"], ["word"], ["SYNONYM", "<ALPHANUM>"], ["shingle"]])
    },
    "delimited_payload_filter": lambda: {"encoding": "identity"} | maybe(0.5, {"delimiter": "-"}),
} | dict.fromkeys(PLAIN_FILTERS, dict)
# Weights of the token filters that are chosen more often.
WEIGHTS = {"word_delimiter": 2, "synonym": 3, "shingle": 2, "stop": 2, "lowercase": 5}


def char_pattern():
    pattern = choice(["-", "(\\w)\\1", "\\s+"])
    group = "$1" if "(" in pattern else ""
    return {"pattern": pattern, "replacement": choice([" ", group, "_"])}


CHAR_FILTERS = {
    "html_strip": dict,
    "mapping": lambda: {
        "mappings": choice([["& => and", "ph => f"], ["fox => foxes"], ["-=>"], ["qu => k", "q => x"]])
    },
    "pattern_replace": char_pattern,
}


def tokenizer():
    kind = choice(list(TOKENIZERS))
    return {"type": kind} | TOKENIZERS[kind]()


def token_filter():
    kind = weighted_choice({kind: WEIGHTS.get(kind, 1) for kind in TOKEN_FILTERS})
    return {"type": kind} | TOKEN_FILTERS[kind]()


def char_filter():
    kind = choice(list(CHAR_FILTERS))
    return {"type": kind} | CHAR_FILTERS[kind]()


def analyzer():
    """The settings of an analyzer with the name a."""
    filters = {f"f{number}": token_filter() for number in range(randint(1, 3))}
    char_filters = maybe(0.2, {"c0": char_filter()})
    settings = {"type": "custom", "tokenizer": "tk", "filter": ["lowercase"] * chance(0.4) + [*filters]}
    if char_filters:
        settings["char_filter"] = [*char_filters]
    settings |= some(0.15, {"position_offset_gap": [0, 5, 100]})
    return {
        "tokenizer": {"tk": tokenizer()},
        "filter": filters,
        "char_filter": char_filters,
        "analyzer": {"a": settings},
    }


def query_string(words):
    for sign in "/:\"'":
        words = words.replace(sign, "")
    return (
        {"default_field": "s", "query": choice(['"%s"', "%s", "%s*", "(%s)~"]) % words}
        | maybe(0.3, {"auto_generate_phrase_queries": True})
        | maybe(0.4, {"default_operator": "and"})
    )


def highlighted(words):
    highlight = {"type": choice(["plain", "fvh"]), "number_of_fragments": choice([0, 2])}
    return {
        "query": {choice(["match", "match_phrase"]): {"s": words}},
        "fields": [],
        "highlight": {"fields": {"s": highlight}},
    }


def analyzers():
    words = sentence(WORDS, 4)
    value = sentence(WORDS, 8) if chance(0.8) else [sentence(WORDS, 3), sentence(WORDS, 3)]
    field = {"type": "string", "analyzer": "a", "term_vector": "with_positions_offsets"}
    yield create_index("idx", {"s": field}, analyzer())
    for text in [sentence(WORDS, 7), sentence(WORDS, 7)]:
        yield case("GET", "/idx/_analyze?analyzer=a", text)
    yield case("PUT", "/idx/t/1?refresh=true", {"s": value})
    yield case("GET", "/idx/t/1/_termvector?offsets=true&positions=true&term_statistics=true")
    yield validate({choice(["match", "match_phrase", "match_phrase_prefix"]): {"s": words}})
    yield validate({"query_string": query_string(words)})
    yield search(highlighted(words))
    yield case("DELETE", "/idx")


AREAS = [Area("analyzers", "tokenizers, token filters and character filters in combination", list, analyzers)]
