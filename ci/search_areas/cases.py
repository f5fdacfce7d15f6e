"""Helpers of all areas: lines of a file of cases, and random choices."""
import collections
import json
import random
from random import choice, randint

# An area of the API. summary: one line for --help. documents(): returns the requests that create its indices and
# documents. requests(): returns one or more random requests.
Area = collections.namedtuple("Area", ["name", "summary", "documents", "requests"])
BOOLEANS = [True, False]
KEYWORD = {"type": "string", "index": "not_analyzed"}
STRING = {"type": "string"}
LONG = {"type": "long"}


def case(method, path, body=None):
    """A line of a file of cases. body: JSON, or a string that is sent as it is."""
    if body is None:
        return f"{method} {path}"
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    return f"{method} {path} {text}"


def create_index(name, fields=None, analysis=None, **mappings):
    """A request that creates an index of one shard. fields: those of the type t. mappings: those of other types."""
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    if analysis:
        settings["analysis"] = analysis
    if fields:
        mappings["t"] = {"properties": fields}
    return case("PUT", f"/{name}", {"settings": settings, "mappings": mappings})


def search(body):
    return case("GET", "/idx/_search", body)


def validate(query):
    """A request that shows the Lucene query, or the error of an invalid one."""
    return case("GET", "/idx/_validate/query?explain=true", {"query": query})


def chance(share):
    return random.random() < share


def maybe(share, settings):
    """Settings that a request has at times."""
    return settings if chance(share) else {}


def some(share, choices):
    """Settings with one of their values each. share: the probability of each setting."""
    return {name: choice(values) for name, values in choices.items() if chance(share)}


def subset(items, most):
    """At least one and at most so many different items."""
    return random.sample(items, randint(1, most))


def repeated(most, make):
    """At least one and at most so many results of a function."""
    return [make() for _ in range(randint(1, most))]


def weighted_choice(weights):
    """One of the keys. Their values are their weights."""
    return random.choices(list(weights), list(weights.values()))[0]


def sentence(words, most):
    """At least one and at most so many of the words."""
    return " ".join(repeated(most, lambda: choice(words)))
