"""Write random requests of one area of the search API, to compare the answers with those of a real Elasticsearch.

    python3 ci/search_areas AREA SEED COUNT > CASES
    ci/clients/elasticsearch.sh ci/search_answers.py compare CASES --with http://127.0.0.1:9200 --delete-all

The first requests create the indices and documents of the area. COUNT random requests follow. The same seed writes the
same requests. Many of them are invalid on purpose, to compare the errors.
"""
import argparse
import itertools
import random

import altered
import altered_writes
import analysis
import completions
import metadata
import patterns
import queries
import regexps
import relatives
import scripts
import similar
import simple_query_strings
import suggestions
import templates
import vectors

MODULES = [
    altered,
    altered_writes,
    analysis,
    similar,
    relatives,
    templates,
    patterns,
    regexps,
    simple_query_strings,
    scripts,
    queries,
    suggestions,
    completions,
    vectors,
    metadata,
]
AREAS = {area.name: area for module in MODULES for area in module.AREAS}


def random_requests(area):
    """The random requests of an area without end."""
    while True:
        yield from area.requests()


def main():
    summaries = [f"  {area.name:22}{area.summary}" for area in AREAS.values()]
    parser = argparse.ArgumentParser(
        prog="python3 ci/search_areas",
        description=__doc__,
        epilog="\n".join(["areas:", *summaries, "", "example: python3 ci/search_areas spans 1 500 > spans.txt"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("area", choices=AREAS, metavar="AREA", help="name of an area, see below")
    parser.add_argument("seed", type=int, metavar="SEED", help="seed of the random choices")
    parser.add_argument("count", type=int, metavar="COUNT", help="number of random requests")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    area = AREAS[arguments.area]
    for line in [*area.documents(), *itertools.islice(random_requests(area), arguments.count)]:
        print(line)


if __name__ == "__main__":
    main()
