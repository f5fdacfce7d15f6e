"""Java patterns: in the include of a terms aggregation, and in tokenizers and filters."""
import random
from random import choice, randint

from cases import BOOLEANS, KEYWORD, Area, case, chance, create_index, maybe, repeated, search, weighted_choice

TERMS = [
    *"a b aa ab abc A AB Ab1 1 12 a1 a-b é É aé foo Foo FOO fooBar foo.bar x_y [a] a] (a) a|b a&b ^a a$ 1.5".split(),
    *["", "a b", "\t", "a\nb", "a\r", "a\n", "ß", "ſ", "K", "\u212a", "日本", "a\u0085", "\u00a0", "~", "-", "--"],
]
ANALYZED = "fooBar2 FooBAR é ÉX a.b a-b (a) x_y 12"
LITERALS = "abcAx1.-^$&|~é"
RANGES = ["a-c", "A-Z", "0-9", "a-z", "é-ÿ", " -~"]
CLASSES = r"\d \w \s \W \D \S \h \v \H".split()
PROPERTIES = r"""\p{L} \p{Lu} \P{L} \p{Alpha} \p{Punct} \p{IsLatin} \p{javaLowerCase} \pL \p{IsAlphabetic} \p{Space}
\p{LC} \p{L1}""".split()
ESCAPES_OF_CLASSES = r"\] \[ \- \\ \n \x61 \u0062 - & [ \.".split()
ESCAPES = r"\w \d \s . . \W \. \p{Lu} \p{Alnum} \S \R \h \x61".split()
BOUNDARIES = r"^ $ \b \B \A \z \Z \G".split()
GROUPS = "( ( (?: (?= (?! (?<= (?<! (?> (?i: (?s:".split()
SPECIAL = [*r"\1 (?i) (?s) (?m) \Qa.b\E \- (?-i) () \2 (?i)é (?iu)é | {1}".split(), "(?x) "]
QUANTIFIERS = "* + ? *? +? ?? *+ ++ {1,2} {2} {0,1}? {1,}+ {,2} {2".split()
FLAGS = """CASE_INSENSITIVE DOTALL MULTILINE COMMENTS UNICODE_CASE CASE_INSENSITIVE|UNICODE_CASE UNIX_LINES LITERAL
UNICODE_CHAR_CLASS UNICODE_CHARACTER_CLASS CANON_EQ""".split()
# Patterns that java.util.regex refuses, and valid ones that look malformed.
MALFORMED = [
    *r"""( (a [a [ [^ [] * *a + a** a) ) a{1 { a{ a{,2} a{2,1} a{x} {1} \ a\ \y \p \p{ \p{x} \p{Foo} \pX \pL""".split(),
    *r"""(? (?< (?<a (?<a> (?<1>a) (?x (?z) (?<=a*)b (?<=a+)b (?:a (?=a (?<!a [b-a] [a&& [a&&b [a[b] [[:alpha:]]
    \1 (a)\1 (a)\2 \k<a> \ka \x \xg \u12 \c \0 \09 \07 a{99999999999} (?i (?- a|* | () (|a) (*a) (?>a""".split(),
    *r"""\Qa \E \N \X \R \h [\b] [z-\d] [\d-z] (?<a>x)(?<a>y) x{2}{3} x{2}+ x?+ x?? x*?+ x+** ? a??? a++++
    [a- [a-] [-a] [^] []a] [a]] ((a) (a)) (a] [(a]) a{1}} } \< \- \_ (?#x) (?P<a>x)""".split(),
    *r"""\G \g1 \K \Z \z \A \l \L \U \i""".split(),
    "\\ ",
]


def character_class(depth=0):
    """A class in brackets; below the third level without others."""
    return "[" + choice(["", "", "^"]) + "".join(repeated(3, lambda: class_item(depth))) + "]"


def intersection(depth):
    return "&&" + choice([character_class(depth + 1) if depth < 2 else "a", "a-z", "[^b]", "\\w"])


def class_item(depth):
    return weighted_choice(
        {
            lambda: choice(LITERALS): 30,
            lambda: choice(RANGES): 20,
            lambda: choice(CLASSES): 20,
            lambda: choice(PROPERTIES): 10,
            lambda: character_class(depth + 1) if depth < 2 else intersection(depth): 6,
            lambda: intersection(depth): 7,
            lambda: choice(ESCAPES_OF_CLASSES): 7,
        }
    )()


def group(depth):
    return choice([*GROUPS, f"(?<n{randint(0, 98)}>"]) + alternatives(depth + 1) + ")"


def atom(depth):
    """A part without quantifier; below the fourth level no group."""
    return weighted_choice(
        {
            lambda: choice("abcAB1-. é"): 35,
            lambda: choice(ESCAPES): 15,
            character_class: 15,
            lambda: choice(BOUNDARIES): 7,
            lambda: group(depth) if depth < 3 else choice(SPECIAL): 23,
            lambda: choice(SPECIAL): 5,
        }
    )()


def quantified(depth):
    return atom(depth) + (choice(QUANTIFIERS) if chance(0.3) else "")


def alternatives(depth=0):
    sequence = lambda: "".join(repeated(4, lambda: quantified(depth)))  # noqa: E731
    return "|".join(sequence() for _ in range(choice([1, 1, 1, 2])))


def including(pattern):
    """A search for the terms that match a pattern: a string, or an object with flags."""
    terms = {"field": "s", "size": 0, "order": {"_term": "asc"}, "include": pattern}
    return search({"size": 0, "aggs": {"a": {"terms": terms}}})


def component(pattern, flags):
    """A component of an analyzer with the pattern: its kind and its settings."""
    replacement = {"type": "pattern_replace", "pattern": pattern}
    return choice(
        [
            ("tokenizer", {"type": "pattern", "pattern": pattern, "flags": flags}),
            ("tokenizer", {"type": "pattern", "pattern": pattern, "group": choice([0, 1])}),
            ("char_filter", replacement | {"replacement": choice(["<$0>", "-", "$1", "\\\\$x", "$11"])}),
            ("filter", replacement | {"replacement": choice(["<$0>", "-", "$1", ""]), "all": choice(BOOLEANS)}),
            ("filter", {"type": "pattern_capture", "patterns": [pattern], "preserve_original": choice(BOOLEANS)}),
        ]
    )


def analyzed(pattern, flags):
    kind, settings = component(pattern, flags)
    tokenizer = {"tokenizer": "own", "char_filter": "keyword", "filter": "whitespace"}[kind]
    analyzer = {"type": "custom", "tokenizer": tokenizer}
    if kind != "tokenizer":
        analyzer[kind] = ["own"]
    yield create_index("an", analysis={"analyzer": {"z": analyzer}, kind: {"own": settings}})
    yield case("GET", "/an/_analyze?analyzer=z", ANALYZED)
    yield case("DELETE", "/an")


def documents():
    yield create_index("idx", {"s": KEYWORD})
    for number, term in enumerate(TERMS):
        yield case("PUT", f"/idx/t/{number}", {"s": term})
    yield case("POST", "/idx/_refresh")


def patterns():
    pattern = alternatives()
    flags = maybe(0.3, {"flags": choice([*FLAGS, 256, 66])})
    if chance(0.6):
        yield including({"pattern": pattern} | flags if flags else pattern)
    else:
        names = flags.get("flags", "")
        yield from analyzed(pattern, names if isinstance(names, str) else "CASE_INSENSITIVE")


def pattern_errors():
    """All of the malformed patterns in random order, some of them followed by another one."""
    for pattern in random.sample(MALFORMED, len(MALFORMED)):
        yield including(pattern + (choice(MALFORMED) if chance(0.3) else ""))


AREAS = [
    Area("patterns", "Java patterns: include of terms aggregations, tokenizers and filters", documents, patterns),
    Area("pattern_errors", "malformed Java patterns: the messages of their errors", documents, pattern_errors),
]
