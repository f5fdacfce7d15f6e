"""simple_query_string queries: operators, quotes and escapes in any order, with flags and settings."""
from random import choice, randint

from cases import KEYWORD, LONG, STRING, Area, case, chance, create_index, maybe, repeated, search, sentence, some
from cases import subset, validate, weighted_choice

WORDS = "alpha beta gamma delta épsilon foo-bar x1 10.0.0.1 the and Alpha".split()
# What a query has in place of a word.
OTHER_WORDS = ["al", "gam", "zz", "dogs", "run", "5", "2016-01-05", *'"()|+-~*\\']
SEPARATORS = [" ", "  ", "", " + ", " | ", "|", "+", " -"]
ESCAPED = ['\\"', "\\(", "\\-x", "\\\\", "--x", "-+x", "a-b", "a+b", "a|b", '"a', 'a"']
FLAGS = """ALL NONE AND OR NOT PREFIX PHRASE PRECEDENCE ESCAPE WHITESPACE FUZZY NEAR SLOP AND|OR OR|AND|PREFIX
PHRASE|NEAR NOT|WHITESPACE x""".split()
FIELDS = "s k e n d s^2 _all nope * e^0.5".split()
ENGLISH = {"type": "string", "analyzer": "english"}


def word():
    return choice(WORDS + OTHER_WORDS)


def phrase():
    return '"' + " ".join(repeated(3, word)) + '"' + choice(["", "~1", "~2", "~", "~x"])


def prefixed():
    return choice(["-", "+", "|", "~", "- ", "+ ", "| "]) + word()


def suffixed():
    return word() + choice(["*", "~", "~1", "~2", "~9", "**", "\\*", "~0.5"])


def group():
    return "(" + word() + choice([" ", "|", " + ", " -"]) + word() + choice([")", "", ")*"])


def query():
    parts = {phrase: 15, prefixed: 15, suffixed: 15, group: 10, lambda: choice(ESCAPED): 5, word: 40}
    return "".join(repeated(5, lambda: weighted_choice(parts)() + choice(SEPARATORS)))


def settings():
    return (
        maybe(0.5, {"fields": subset(FIELDS, 3)})
        | some(0.3, {"default_operator": ["and", "or", "AND", "Or"]})
        | some(0.35, {"flags": FLAGS})
        | some(0.15, {"analyzer": ["standard", "whitespace", "keyword", "english", "nope"]})
        | some(0.15, {"minimum_should_match": [1, 2, "50%", "-1", "2<75%"], "lenient": [True]})
        | some(0.1, {"analyze_wildcard": [True], "lowercase_expanded_terms": [False], "boost": [2.5]})
        | some(0.05, {"locale": ["fr", "en_US", "ROOT"], "_name": ["x"]})
    )


def documents():
    yield create_index("idx", {"s": STRING, "k": KEYWORD, "e": ENGLISH, "n": LONG, "d": {"type": "date"}})
    for number in range(25):
        document = {
            "s": sentence(WORDS, 5),
            "k": choice(WORDS),
            "e": sentence([*WORDS, "running", "quickly", "dogs"], 4),
            "n": randint(0, 19),
            "d": f"2016-01-{number + 1:02}",
        }
        yield case("PUT", f"/idx/t/{number}", document)
    yield case("POST", "/idx/_refresh")


def simple_query_strings():
    found = {"simple_query_string": {"query": query()} | settings()}
    yield validate(found) if chance(0.5) else search({"query": found, "fields": [], "size": 30})


AREAS = [
    Area("simple_query_strings", "simple_query_string: operators, escapes and flags", documents, simple_query_strings)
]
