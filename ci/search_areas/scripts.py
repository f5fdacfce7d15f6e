"""Scripts in the expression language: in script fields, scores, sorts and aggregations."""
from random import choice, randint

from cases import BOOLEANS, KEYWORD, LONG, Area, case, chance, create_index, search, some, weighted_choice

PROPERTIES = {
    "i": {"type": "integer"},
    "l": LONG,
    "f": {"type": "float"},
    "x": {"type": "double"},
    "d": {"type": "date"},
    "b": {"type": "boolean"},
    "ip": {"type": "ip"},
    "by": {"type": "byte"},
    "s": KEYWORD,
    "o": {"properties": {"n": LONG}},
}
NUMBERS = "0 1 2 -1 0.5 .5 1e2 1E-2 0x1F 017 08 1. 3.0e+1 10 1_0 1L 2f".split()
VARIABLES = """doc['i'].value doc['l'].value doc['f'].value doc['x'].value doc['d'].value doc['b'].value
doc['o.n'].value doc['by'].value _score p q doc["i"].value doc['nope'].value doc['s'].value doc['i'].empty
doc['i'].values doc['i'] doc.i.value doc['ip'].value""".split()
ARITHMETIC = ["+", "-", "*", "/", "%", " + ", " - "]
COMPARISONS = "< > <= >= == != && || & | ^ << >> >>>".split()
SIGNS = ["-", "+", "!", "~", "- ", "--"]
UNARY_FUNCTIONS = """abs acos acosh asin asinh atan atanh ceil cos cosh exp floor ln log10 sin sinh sqrt tan tanh ln1p
expm1 round signum sign log""".split()
BINARY_FUNCTIONS = "atan2 max min pow logn haversin".split()
MALFORMED = [
    "%s)",
    "(%s",
    "%s x",
    "%s;",
    "",
    "  ",
    "%s+",
    "*%s",
    "a.b.c",
    "doc[",
    "doc['i",
    "doc['i'].value.value",
    "1 2",
    "max(1)",
    "max()",
    "foo(1)",
    "_score.x",
    "p[0]",
    "p.x",
]
PARAMS = [{"p": 3}, {"p": 2.5, "q": 0}, {"p": 1, "q": 2}, {"p": "x"}, {}]


def operand():
    return choice(choice([NUMBERS, VARIABLES]))


def operation(operators, depth):
    return expression(depth) + choice(operators) + expression(depth)


def unary_call(depth):
    """A call of a function of one argument, at times with one too many."""
    more = choice(["", "", "", "," + expression(depth)])
    return choice(UNARY_FUNCTIONS) + "(" + expression(depth) + more + ")"


def binary_call(depth):
    return choice(BINARY_FUNCTIONS) + "(" + expression(depth) + "," + expression(depth) + ")"


def conditional(depth):
    return expression(depth) + "?" + expression(depth) + ":" + expression(depth)


def expression(depth=0):
    """An expression; below the fourth level an operand."""
    if depth > 3:
        return operand()
    inner = depth + 1
    return weighted_choice(
        {
            operand: 25,
            lambda: operation(ARITHMETIC, inner): 30,
            lambda: operation(COMPARISONS, inner): 10,
            lambda: "(" + expression(inner) + ")": 10,
            lambda: choice(SIGNS) + expression(inner): 7,
            lambda: unary_call(inner): 8,
            lambda: binary_call(inner): 6,
            lambda: conditional(inner): 4,
        }
    )()


def script():
    """The settings of a script; one in twenty is malformed."""
    text = expression()
    if chance(0.05):
        text = choice(MALFORMED).replace("%s", text)
    return {"script": text, "lang": "expression", "params": choice(PARAMS)}


def script_field():
    return {"script_fields": {"a": script()}, "sort": ["_uid"], "size": 12}


def script_score():
    score = {"query": {"match_all": {}}, "script_score": script()}
    return {"query": {"function_score": score}, "fields": []}


def script_sort():
    return {"sort": {"_script": script() | {"type": "number"}}, "fields": []}


def aggregation():
    return {"size": 0, "aggs": {"a": {choice(["sum", "stats", "min", "max", "terms"]): script()}}}


def value_script():
    found = script()
    found["script"] = choice(["_value*2", "_value+" + found["script"], "-_value"])
    return {"size": 0, "aggs": {"a": {"sum": {"field": "i"} | found}}}


def document(number):
    found = some(
        0.85,
        {
            "i": [0, 1, -3, 7, randint(0, 99), [3, 1, 2]],
            "l": [0, 5, -8, 10**12, 2**53 + 1],
            "f": [0.5, -1.25, 3.4, 1e10],
            "x": [0.1, 2.5, -7.75, 1e-5],
        },
    )
    found |= some(0.7, {"d": [f"2016-01-{number + 1:02}"], "b": BOOLEANS})
    return found | some(0.5, {"o": [{"n": number}]}) | {"s": f"s{number}", "by": number}


def documents():
    yield create_index("idx", PROPERTIES)
    for number in range(12):
        yield case("PUT", f"/idx/t/{number}", document(number))
    yield case("POST", "/idx/_refresh")


def scripts():
    yield search(
        weighted_choice({script_field: 45, script_score: 15, script_sort: 15, aggregation: 15, value_script: 10})()
    )


AREAS = [Area("scripts", "expressions in script fields, scores, sorts and aggregations", documents, scripts)]
