"""Suggestions: term, phrase and completion suggesters of misspelled words."""
from random import choice, randint, randrange

from cases import LONG, Area, case, chance, create_index, maybe, repeated, search, sentence, some, weighted_choice

WORDS = """alpha alpine alphabet beta better gamma gammas delta deltas epsilon the noble prize nobel price
xorr""".split()
ANALYSIS = {
    "analyzer": {
        "sh": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "shi"]},
        "rev": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "reverse"]},
    },
    "filter": {"shi": {"type": "shingle", "min_shingle_size": 2, "max_shingle_size": 3}},
}
PROPERTIES = {
    "s": {
        "type": "string",
        "fields": {"sh": {"type": "string", "analyzer": "sh"}, "rev": {"type": "string", "analyzer": "rev"}},
    },
    "c": {"type": "completion", "payloads": True},
    "n": LONG,
}
TERM_SETTINGS = {
    "size": [1, 2, 10, 0],
    "shard_size": [1, 5],
    "sort": ["score", "frequency", "x"],
    "suggest_mode": ["missing", "popular", "always", "x"],
    "max_edits": [1, 2, 3],
    "prefix_length": [0, 1, 2, 3],
    "min_word_length": [2, 4, 6],
    "min_word_len": [2],
    "max_inspections": [1, 5],
    "min_doc_freq": [0, 2, 0.1],
    "max_term_freq": [0.01, 2, 5],
    "string_distance": ["internal", "damerau_levenshtein", "levenstein", "jarowinkler", "ngram", "x"],
    "lowercase_terms": [True],
    "analyzer": ["standard", "whitespace", "nope"],
    "accuracy": [0.5, 0.9],
}
LAMBDAS = {"trigram_lambda": 0.5, "bigram_lambda": 0.3, "unigram_lambda": 0.2}
PHRASE_SETTINGS = {
    "size": [1, 3, 5],
    "max_errors": [1, 2, 0.5, 0.9],
    "confidence": [0, 0.5, 1, 2],
    "real_word_error_likelihood": [0.5, 0.95],
    "separator": [" ", "-"],
    "gram_size": [1, 2, 3],
    "force_unigrams": [False],
    "token_limit": [1, 5],
    "highlight": [{"pre_tag": "<", "post_tag": ">"}, {"pre_tag": "<"}],
    "smoothing": [
        {"laplace": {"alpha": 0.7}},
        {"stupid_backoff": {"discount": 0.5}},
        {"linear": LAMBDAS},
        {"linear_interpolation": LAMBDAS},
        {"x": {}},
    ],
    "collate": [
        {"query": {"match": {"s": "{{suggestion}}"}}},
        {"query": {"match": {"{{field_name}}": "{{suggestion}}"}}, "params": {"field_name": "s"}, "prune": True},
    ],
}
GENERATOR_SETTINGS = {
    "suggest_mode": ["always", "popular", "missing"],
    "min_word_length": [1, 2, 4],
    "max_edits": [1, 2],
    "prefix_length": [0, 1],
    "size": [1, 5],
    "pre_filter": ["rev"],
    "post_filter": ["rev"],
    "min_doc_freq": [0, 1, 2],
}
FUZZY = [
    lambda: True,
    lambda: False,
    lambda: {"fuzziness": choice([0, 1, 2, "AUTO"])},
    lambda: {"transpositions": False},
    lambda: {"min_length": 2, "prefix_length": 1},
    lambda: {"unicode_aware": True},
]


def completion_value(number):
    word = choice(WORDS)
    return choice(
        [
            word,
            {"input": [f"{word} {choice(WORDS)}", choice(WORDS)], "weight": randint(1, 29)},
            {"input": word, "output": f"out {number}", "weight": number, "payload": {"id": number}},
        ]
    )


def documents():
    yield create_index("idx", PROPERTIES, ANALYSIS)
    for number in range(40):
        document = {"s": sentence(WORDS, 7), "n": number}
        if number % 3 == 0:
            document["c"] = completion_value(number)
        yield case("PUT", f"/idx/t/{number}", document)
    yield case("POST", "/idx/_refresh")


def misspelled():
    """A word with a letter less, two letters swapped, a letter more, or unchanged."""
    word = choice(WORDS)
    place = randrange(len(word) - 1)
    before, letter, after, rest = word[:place], word[place], word[place + 1], word[place + 2 :]
    without, swapped = before + after + rest, before + after + letter + rest
    with_another = before + choice("abcxyz") + letter + after + rest
    return weighted_choice({without: 30, swapped: 30, with_another: 20, word: 20})


def text():
    return " ".join(repeated(3, misspelled))


def term():
    return {"term": {"field": choice("s s s s.rev nope n".split())} | some(0.25, TERM_SETTINGS)}


def phrase():
    generator = {"field": choice(["s", "s", "s.rev"])} | some(0.25, GENERATOR_SETTINGS)
    settings = some(0.25, PHRASE_SETTINGS) | maybe(0.6, {"direct_generator": [generator]})
    return {"phrase": {"field": choice(["s.sh", "s", "nope"])} | settings}


def completion():
    settings = some(0.25, {"size": [1, 3, 10]}) | maybe(0.4, {"fuzzy": choice(FUZZY)()})
    return {
        "completion": {"field": choice("c c c s nope".split())} | settings,
        "text": choice(WORDS)[: randint(1, 4)],
    }


def suggestions():
    body = maybe(0.2, {"text": text()})
    for number in range(choice([1, 1, 2])):
        suggester = choice([term, term, phrase, phrase, completion])()
        if "completion" not in suggester and ("text" not in body or chance(0.5)):
            suggester["text"] = text()
        body[f"s{number}"] = suggester
    if chance(0.5):
        yield case("POST", "/idx/_suggest", body)
    else:
        yield search({"size": 0, "suggest": body})


AREAS = [Area("suggestions", "term, phrase and completion suggesters", documents, suggestions)]
