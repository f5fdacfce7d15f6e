#!/usr/bin/env python3
"""Write random faults, to measure which share of them the suite detects.

    ci/random_faults.py HAR... --seed 1 --count 500 > faults.yaml
    STUNTDOUBLE_MUTANTS=faults.yaml cargo test --test mutants -- file/

Each fault changes what a server answered in a HAR file, wherever the same method and path have the same status: a value
is removed or changed, the status is another one, or a field of the request is ignored. The same seed writes the same
faults. Some are none: of operations that the documentation does not have, or of values that no trial sends.
"""
import argparse
import collections
import json
import random
import re
from pathlib import Path

STATUS_CODES = {True: [200, 201, 202], False: [400, 403, 404, 409, 422, 500]}
# Where a write has what a server must keep.
WRITTEN = ("/spec", "/data", "/metadata/labels", "/metadata/annotations", "/subsets")


def template(path):
    """The path with stars for the namespace and the name; None for paths that are no objects of the API."""
    found = re.match(r"^(/api/v1|/apis/[^/]+/[^/]+)/(.+)$", path.split("?")[0])
    if not found or re.search(r"(^|/)(proxy|watch)(/|$)", found[2]) or "watch=" in path:
        return None
    first, *rest = found[2].strip("/").split("/")
    kept = [first]
    if first == "namespaces" and len(rest) > 1 and rest[1] not in ("finalize", "status"):
        kept, rest = [first, "*", rest[1]], rest[2:]
    return "/".join([found[1], *kept, *(["*", *rest[1:]] if rest else [])])


def values(value, pointer=""):
    """The pointers of all values in a value."""
    if isinstance(value, dict):
        parts = [(key.replace("~", "~0").replace("/", "~1"), part) for key, part in value.items()]
    elif isinstance(value, list):
        parts = list(enumerate(value[:2]))
    else:
        parts = []
    for key, part in parts:
        yield f"{pointer}/{key}", part
        yield from values(part, f"{pointer}/{key}")


def changed(value):
    """Another value of the same type; None for objects and lists."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return value + "x" if isinstance(value, str) else None


def answers(files):
    """Request and response bodies by method, path and status."""
    found = collections.defaultdict(list)
    for file in files:
        for entry in json.loads(file.read_text())["log"]["entries"]:
            request, response = entry["request"], entry["response"]
            path = template(re.sub(r"^https?://[^/]+", "", request["url"]))
            try:
                answer = json.loads(response["content"].get("text") or "")
                sent = json.loads(request.get("postData", {}).get("text") or "null")
            except json.JSONDecodeError:
                continue
            if path and isinstance(answer, dict):
                found[request["method"], path, response["status"]].append((sent, answer))
    return found


def fault(method, path, status, sent, answer):
    """A random fault: what it is, and the fields of its mutant. None if the choice makes none."""
    when = {"method": method, "path": path, "answered": status}
    kind = random.choice(["remove", "change", "change", "ignore", "status"])
    if kind == "status":
        codes = STATUS_CODES[status < 400]
        other = random.choice([code for code in codes if code != status])
        return f"status {other}", {"when": when, "answer": {"status": other}}
    if kind == "ignore":
        pointers = [pointer for pointer, _ in values(sent) if pointer.startswith(WRITTEN)]
        if not pointers or status >= 400:
            return None
        del when["answered"]
        pointer = random.choice(pointers)
        return f"{pointer} of the request is ignored", {"when": when, "ask": {"body-remove": [pointer]}}
    all_values = list(values(answer))
    if not all_values:
        return None
    pointer, value = random.choice(all_values)
    if kind == "remove":
        return f"without {pointer}", {"when": when, "answer": {"remove": [pointer]}}
    other = changed(value)
    # An element of a list cannot be set.
    if other is None or re.search(r"/\d+$", pointer):
        return None
    return f"{pointer} is {json.dumps(other)}", {"when": when, "answer": {"set": {pointer: other}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="HAR", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--profile", default="kubernetes-1.2")
    options = parser.parse_args()
    random.seed(options.seed)
    found = sorted(answers(sorted(options.files)).items())
    faults = {}
    for _ in range(100 * options.count):
        if len(faults) == options.count:
            break
        (method, path, status), bodies = random.choice(found)
        made = fault(method, path, status, *random.choice(bodies))
        if made:
            faults[f"{method} {path} {status}: {made[0]}"] = made[1]
    for number, (text, fields) in enumerate(faults.items()):
        mutant = {"id": f"random-{number}", "fault": text, "profile": options.profile, **fields, "caught-by": []}
        print("-", json.dumps(mutant))


main()
