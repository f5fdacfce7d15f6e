"""Regular expressions and wildcards of Lucene: regexp queries and filters, wildcard and query_string queries."""
from random import choice, randint

from cases import KEYWORD, Area, case, chance, create_index, repeated, search, some, weighted_choice

TERMS = [
    *"a b aa ab abc A AB Ab1 1 12 007 100 99 a1 a-b é aé foo fooBar foo.bar x_y [a] a] (a) a|b a&b ^a a$ 1.5".split(),
    *["a b", "a\nb", "日本", "~", "-", "--", "<1-5>", "@", "#", '"a"', "\\", "a\\b", "5", "42", "𝒳", "a𝒳b"],
]
CLASS_ITEMS = r"""a-c A-Z 0-9 a . - \] \- é [ ^ \\ b 1 " ~""".split()
OPERATORS = r""". @ # ~a ~b ~(ab) \. \@ \~ \# \a \" """.split()
SPECIAL = """<1-5> <10-100> <001-100> <5-1> <-5> <1-> <a> <> "a" "a.b" " () <1-5 𝒳 ^ $ & _ { } ) | *""".split()
QUANTIFIERS = "* + ? {2} {1,2} {1,} {0,1} {2,1} {,2} {2 ** +? {a}".split()
WILDCARDS = r"a b * ? \ \* \? 1 - . é 𝒳 o".split()
FLAGS = """ALL NONE INTERSECTION COMPLEMENT EMPTY ANYSTRING INTERVAL COMPLEMENT|INTERVAL INTERSECTION|COMPLEMENT|EMPTY
AUTOMATON none""".split()


def character_class():
    return "[" + choice(["", "", "^"]) + "".join(repeated(3, lambda: choice(CLASS_ITEMS))) + "]"


def atom(depth):
    """A part without quantifier; below the fourth level no group."""
    return weighted_choice(
        {
            lambda: choice("abcAB1-oé"): 40,
            lambda: choice(OPERATORS): 10,
            character_class: 12,
            lambda: choice(SPECIAL): 8,
            lambda: "(" + alternatives(depth + 1) + ")" if depth < 3 else choice("ab"): 25,
            lambda: choice("ab"): 5,
        }
    )()


def quantified(depth):
    complement = "~" if chance(0.15) else ""
    return complement + atom(depth) + (choice(QUANTIFIERS) if chance(0.35) else "")


def sequence(depth):
    least = 0 if chance(0.1) else 1
    return "".join(quantified(depth) for _ in range(randint(least, 3)))


def intersection(depth):
    return "&".join(sequence(depth) for _ in range(choice([1, 1, 1, 1, 2])))


def alternatives(depth=0):
    return "|".join(intersection(depth) for _ in range(choice([1, 1, 1, 2])))


def regexp():
    settings = some(0.4, {"flags": [*FLAGS, ""]})
    settings |= some(0.1, {"flags_value": [0, 1, 2, 4, 8, 16, 32, 65535]})
    settings |= some(0.15, {"max_determinized_states": [1, 5, 20, 100]})
    return {"regexp": {"s": {"value": alternatives()} | settings}}


def regexp_filter():
    return {"constant_score": {"filter": regexp()}}


def query_string():
    return {"query_string": {"query": "s:/" + alternatives().replace("/", "") + "/"}}


def wildcard():
    return {"wildcard": {"s": "".join(repeated(4, lambda: choice(WILDCARDS)))}}


def documents():
    yield create_index("idx", {"s": KEYWORD})
    for number, term in enumerate(TERMS):
        yield case("PUT", f"/idx/t/{number}", {"s": term})
    yield case("POST", "/idx/_refresh")


def regexps():
    query = weighted_choice({regexp_filter: 50, regexp: 25, query_string: 10, wildcard: 15})()
    yield search({"query": query, "size": 50, "fields": [], "sort": ["_uid"]})


AREAS = [Area("regexps", "regular expressions and wildcards of Lucene", documents, regexps)]
