#!/usr/bin/env python3
"""Ask a real Elasticsearch 1.5.2 and print its answers, or how those of another server differ.

    ci/clients/elasticsearch.sh ci/search_answers.py record CASES --delete-all
    ci/clients/elasticsearch.sh ci/search_answers.py compare CASES --with http://127.0.0.1:9200 --delete-all

A line of CASES is `METHOD PATH BODY`; in the body ` ;; ` stands for the end of a line. A file whose name ends with
.jsonl is one of recorded answers, whose requests are sent again. `record` prints lines for such a file. The
Elasticsearch is $STUNTDOUBLE_ELASTICSEARCH. All of its indices and templates are deleted first, and those of the other
server: with --delete-all only, and on this machine only.
"""
import argparse
import http.client
import json
import math
import os
import re
import sys
from urllib.parse import quote, urlsplit

UNJUDGED = ["took", "timed_out", "_shards"]
# What differs from one run to the next: ids of documents, addresses of objects, times, names and addresses of nodes.
VOLATILE = [
    (re.compile(r"\bAU[A-Za-z0-9_-]{18}\b"), "ID"),
    (re.compile(r"@([0-9a-f]{5,}|1)\b"), "@ADDRESS"),
    (re.compile(r'"(took|took_in_millis|creation_date|uuid|_scroll_id|_node)"\s*:\s*("[^"]*"|\d+)'), r'"\1":0'),
    (re.compile(r"\[inet\[[^\]]*\]\]"), "[inet]"),
    (re.compile(r"\[elasticsearch-logging-v1-\w+\]"), "[node]"),
    (re.compile(r'; "'), '"'),
    (re.compile(r"\[[A-Za-z0-9_-]{20,22}\](?=\[)"), "[node]"),
    (re.compile(r"(class )?(java|org)\.[\w.$]+ cannot be cast to (class )?(java|org)\.[^\]]*"), "CAST"),
    (re.compile(r"NullPointerException\[[^\]]*\]"), "NullPointerException"),
    (re.compile(r"(line|column): \d+"), r"\1: 0"),
]
# An error of another node is nested once more, and what it nests ends with a separator.
REMOTE = re.compile(r"RemoteTransportException\[\[[^\]]*\]\[inet\[[^\]]*\]\]\[[^\]]*(\[[^\]]*\])?\]\]; nested: ")


class Server:
    def __init__(self, url):
        self.address = urlsplit(url).netloc

    def ask(self, method, path, body):
        """Sends a request. Returns the status and the text of the response, when shards that it created are there."""
        response = self.send(method, path, body)
        if method not in ("GET", "HEAD"):
            self.send("GET", "/_cluster/health?wait_for_status=yellow&timeout=10s", "")
        return response

    def send(self, method, path, body):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, body.encode() if body else None)
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    def clear(self):
        """Deletes all indices and templates."""
        if urlsplit(f"//{self.address}").hostname not in ("127.0.0.1", "::1", "localhost"):
            sys.exit(f"{self.address} is not on this machine: its indices are not deleted")
        self.ask("DELETE", "/_all", "")
        self.ask("DELETE", "/_template/*", "")


def cases(path):
    """The requests of a file: method, path and body."""
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if path.endswith(".jsonl"):
            case = json.loads(line)
            yield case["method"], case["path"], case.get("body", "")
        elif line and not line.startswith("#"):
            method, asked, body = (line.split(" ", 2) + ["", ""])[:3]
            end = "\n" if " ;; " in body else ""
            yield method, quote(asked, safe="/?&=%*,:+~!()[]'@$-._#"), body.replace(" ;; ", "\n") + end


def recorded(method, path, body, status, text):
    """A line of a file of recorded answers."""
    case = {"method": method, "path": path, "body": body, "status": status}
    if not body:
        del case["body"]
    try:
        answer = json.loads(text or "{}")
    except ValueError:
        case["reason"] = text.strip()
        return case
    if isinstance(answer, dict) and "error" in answer and isinstance(answer["error"], str):
        case["reason"] = innermost(answer["error"])
        return case
    if isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key not in UNJUDGED}
    case["answer"] = local(answer)
    return case


def local(answer):
    """An answer of one node, whose parts took no time."""
    if isinstance(answer, dict):
        return {key: 0 if key == "took" else local(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [local(item) for item in answer]
    if isinstance(answer, str) and REMOTE.search(answer):
        return REMOTE.sub("", answer).removesuffix("; ")
    return answer


def innermost(error):
    """The innermost error of a text, without what depends on nodes, shards and the version of Java."""
    text = re.split(r"nested: |shardFailures .*\]\[\d+\]: ", error)[-1].rstrip("; }]")
    text = re.sub(r"class ((?:java|org)\.\S+ cannot be cast to )class ((?:java|org)\.\S+) .*", r"\1\2", text)
    text = re.sub(r"(Source|Parser\$1)@[0-9a-f]+\b", r"\1@1", text)
    return re.sub(r"NullPointerException\[.*", "NullPointerException", text, flags=re.DOTALL)


def judged(status, text):
    text = re.sub(r"; (?=})", "", REMOTE.sub("", text))
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def short(value, width):
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:width]


def differences(real, other, path=""):
    """The members of two answers that differ, with their paths."""
    if isinstance(real, dict) and isinstance(other, dict):
        for key in {**real, **other}:
            if key not in real or key not in other:
                yield f"{path}.{key}", real.get(key, "(none)"), other.get(key, "(none)")
            else:
                yield from differences(real[key], other[key], f"{path}.{key}")
    elif isinstance(real, list) and isinstance(other, list) and len(real) == len(other):
        for number, (first, second) in enumerate(zip(real, other)):
            yield from differences(first, second, f"{path}.{number}")
    elif real != other and not same_number(real, other):
        yield path, real, other


def same_number(real, other):
    """Whether two numbers are the same but for their last digits."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (real, other))
    return numbers and math.isclose(real, other, rel_tol=1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("cases")
    parser.add_argument("--with", dest="other", help="URL of the server to compare with")
    parser.add_argument("--width", type=int, default=400, help="characters of each answer that are shown")
    parser.add_argument("--delete-all", action="store_true", help="delete all indices of the servers first")
    arguments = parser.parse_args()
    if not arguments.delete_all:
        parser.error("all indices of the servers are deleted first: say --delete-all if that is right")
    url = os.environ.get("STUNTDOUBLE_ELASTICSEARCH")
    if not url:
        sys.exit("STUNTDOUBLE_ELASTICSEARCH is not set: no real server to ask")
    real = Server(url)
    real.clear()
    if arguments.action == "record":
        for case in cases(arguments.cases):
            print(json.dumps(recorded(*case, *real.ask(*case)), ensure_ascii=False, separators=(",", ":")))
        return
    if not arguments.other:
        parser.error("compare needs --with URL")
    other = Server(arguments.other)
    other.clear()
    count = differ = 0
    for case in cases(arguments.cases):
        count += 1
        answers = [judged(*server.ask(*case)) for server in (real, other)]
        differing = list(differences(answers[0][1], answers[1][1]))
        if answers[0][0] != answers[1][0] or differing:
            differ += 1
            print(*case[:2], case[2].strip().replace("\n", " ;; "))
            if answers[0][0] != answers[1][0]:
                for name, answer in zip(("real ", "other"), answers):
                    print(f"  {name} {answer[0]} {short(answer[1], arguments.width)}")
                continue
            for path, *texts in differing:
                print(f"  {path}")
                for name, text in zip(("real ", "other"), texts):
                    print(f"    {name} {short(text, arguments.width)}")
    print(f"{differ} of {count} answers differ")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
