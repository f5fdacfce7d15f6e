"""Template queries: mustache tags, well formed or not, within a term query."""
from random import choice, randint

from cases import Area, case, create_index, validate, weighted_choice

NAMES = "a l o o.x t f z n . e lo o.y.z l.0 d m lo.size".split()
PARAMS = {
    "a": 'A"b\\',
    "l": [1, "x", None, True],
    "o": {"x": "X", "y": {"z": 2}},
    "t": True,
    "f": False,
    "n": 7,
    "e": "",
    "lo": [{"x": 1}, {"x": 2, "a": "in"}],
    "d": 1.50,
    "m": None,
}
# Escapes are those of the JSON of the query.
TEXTS = ["q", "w ", " ", "x\\n", "\\n", "-", "{", "}", "$", "%", ""]
SPACES = ["", " ", "  "]
LINE_ENDS = ["", " ", "  ", "\\n", "\\n ", " \\n", "\\t"]
DELIMITERS = [
    "{{=<% %>=}}<%a%><%={{ }}=%>",
    "{{=[ ]=}}[a][={{ }}=]",
    "{{=<%%>=}}<%a%>",
    "{{= | | =}}|a|",
    "{{=<< >> =}}{{a}}<<a>>",
    "{{=<% %}}",
    "{{%PRAGMA}}",
    "{{==}}",
    "{{=a b c=}}",
]
MALFORMED = [
    "{{$a}}i{{/a}}",
    "{{a",
    "{{#a",
    "{{/a}}",
    "{{}}",
    "{{ }}",
    "{{{a}}",
    "{{>a}}",
    "{{#}}k{{/}}",
    "{{>",
    "{{{a} }}",
    "{{ # a }}i{{ / a }}",
    "{{&}}",
    "{{{}}}",
    "{{#a}}i{{/ a}}",
    "{{\\na}}",
    "{{a\\n}}",
]


def spaced_name():
    return choice(SPACES) + choice(NAMES) + choice(SPACES)


def section(depth):
    name = choice(NAMES)
    opening = "{{" + choice("#^#") + choice(SPACES[:2]) + name + choice(SPACES[:2]) + "}}"
    return opening + choice(LINE_ENDS) + content(depth + 1) + choice(LINE_ENDS) + "{{/" + name + "}}"


def tag(depth):
    """A tag; below the third level no section."""
    return weighted_choice(
        {
            lambda: "{{" + spaced_name() + "}}": 25,
            lambda: "{{{" + spaced_name() + "}}}": 10,
            lambda: "{{&" + spaced_name() + "}}": 7,
            lambda: "{{!" + choice(TEXTS) + "}}": 4,
            lambda: choice(DELIMITERS): 3,
            lambda: choice(MALFORMED): 3,
            lambda: section(depth) if depth <= 2 else choice(TEXTS): 48,
        }
    )()


def content(depth):
    parts = [lambda: choice(TEXTS), lambda: tag(depth), lambda: tag(depth)]
    return "".join(choice(parts)() for _ in range(randint(0, 3)))


def documents():
    yield create_index("idx")
    yield case("PUT", "/idx/t/1?refresh=true", {"s": "a b"})


def templates():
    template = '{"term":{"s":"' + choice(["", "", " "]) + "(" + content(0) + ')"}}'
    yield validate({"template": {"query": template, "params": PARAMS}})


AREAS = [Area("templates", "template queries with mustache tags, well formed or not", documents, templates)]
