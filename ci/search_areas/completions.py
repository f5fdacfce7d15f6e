"""Completion suggestions: categories and places as contexts, fuzzy texts, weights, outputs and payloads."""
from random import choice, randint, sample

from cases import KEYWORD, Area, case, chance, create_index, maybe, search, sentence, some

WORDS = "new york nyc newark boston bost-on Bö café 10 downing the beatles beat it".split()
CATEGORIES = ["red", "blue", "none", "x"]
BERLIN = {"lat": 52.5, "lon": 13.4}
# documents() adds the field g, which has a random precision.
PROPERTIES = {
    "c": {"type": "completion", "payloads": True},
    "p": {
        "type": "completion",
        "analyzer": "standard",
        "preserve_separators": False,
        "preserve_position_increments": False,
    },
    "s": {"type": "completion", "analyzer": "stop", "search_analyzer": "simple", "max_input_length": 12},
    "k": {
        "type": "completion",
        "context": {"cat": {"type": "category", "default": ["none"]}},
        "payloads": True,
    },
    # Its contexts are the values of the fields tag and pin.
    "kp": {
        "type": "completion",
        "context": {
            "cat": {"type": "category", "path": "tag"},
            "loc": {"type": "geo", "precision": ["5km", "1km"], "neighbors": True, "path": "pin"},
        },
    },
    "tag": KEYWORD,
    "pin": {"type": "geo_point"},
}
TEXTS = [
    *"n ne new newy b bo bost beat 1 caf bö x nwe yrok it the new-y".split(),
    *["New ", "new y", "the b", "10 d", "nyc b", ""],
]
FUZZY = [
    lambda: True,
    dict,
    lambda: {"fuzziness": choice([0, 1, 2, "AUTO"])},
    lambda: {"transpositions": False},
    lambda: {"min_length": 2},
    lambda: {"prefix_length": 0},
    lambda: {"prefix_length": 2, "min_length": 1},
    lambda: {"unicode_aware": True, "fuzziness": 1},
]


def words():
    return sentence(WORDS, 3)


def category():
    return choice(CATEGORIES)


def categories():
    """One category, or two of them."""
    return choice([category(), sample(CATEGORIES, 2)])


def point():
    return choice(
        [
            {"lat": 52.5 + randint(-3, 3) / 100, "lon": 13.4 + randint(-3, 3) / 100},
            "52.52,13.41",
            "u33d",
            [13.4, 52.5],
            {"lat": 40.7, "lon": -74.0},
            "40.71,-74.01",
        ]
    )


# Contexts of the values of a field.
VALUE_CONTEXTS = {"k": lambda: {"cat": categories()}, "g": lambda: {"loc": point()}}


def entry(field):
    """A value of a completion field as an object."""
    found = {"input": choice([words(), [words(), words()], [words()]])}
    found |= maybe(0.5, {"output": words()}) | some(0.6, {"weight": [0, 1, 5, 10, 2147483647, "7"]})
    if field in ("c", "k"):
        found |= some(0.4, {"payload": [{"id": randint(0, 8)}, {"a": {"b": [1, "x"]}}]})
    if field in VALUE_CONTEXTS:
        found |= maybe(0.8, {"context": VALUE_CONTEXTS[field]()})
    return found


def value(field):
    """A value of a completion field; for fields without contexts at times texts alone."""
    if field in ("c", "p", "s") and chance(0.2):
        return choice([words(), [words(), words()]])
    return entry(field)


def document():
    found = {field: value(field) for field in "cpskg" if chance(0.6)}
    return found | maybe(0.6, {"tag": category(), "pin": point(), "kp": value("kp")})


def documents():
    place = {"type": "geo", "precision": choice([4, 5]), "default": BERLIN}
    yield create_index("idx", PROPERTIES | {"g": {"type": "completion", "context": {"loc": place}}})
    for number in range(30):
        yield case("PUT", f"/idx/t/{number}", document())
    for _ in range(3):
        yield case("DELETE", f"/idx/t/{randint(0, 29)}")
    yield case("POST", "/idx/_refresh")


def category_context():
    return {"cat": choice([category(), sample(CATEGORIES, 2), []])}


def place_context():
    precise = {"value": point(), "precision": choice([4, 5, "5km"])}
    return {"loc": choice([point(), precise, BERLIN | {"precision": 4}])}


def both_contexts():
    """A category and a place, at times only one of them."""
    found = {"cat": category(), "loc": point()}
    if chance(0.1):
        del found[choice(["cat", "loc"])]
    return found


# Contexts of the suggestions of a field.
SUGGESTION_CONTEXTS = {"k": category_context, "g": place_context, "kp": both_contexts}


def completion():
    field = choice("c c p s k kp g".split())
    settings = some(0.35, {"size": [1, 2, 3, 10]}) | maybe(0.35, {"fuzzy": choice(FUZZY)()})
    if field in SUGGESTION_CONTEXTS:
        settings |= maybe(0.85, {"context": SUGGESTION_CONTEXTS[field]()})
    return {"field": field} | settings


def completions():
    text = choice(TEXTS)
    body = {"s": {"text": text, "completion": completion()}}
    if chance(0.15):
        name_of_text = "prefix" if chance(0.2) else "text"
        body["z"] = {name_of_text: text, "completion": {"field": "c"}}
    if chance(0.3):
        yield search({"size": 0, "suggest": body})
    else:
        yield case("POST", "/idx/_suggest", body)


AREAS = [Area("completions", "completion suggestions with contexts, weights and payloads", documents, completions)]
