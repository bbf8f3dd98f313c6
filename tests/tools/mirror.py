#!/usr/bin/env python3
"""Checks that sources and tests mirror one another.

usage: mirror.py [ROOT]

FOLDER/x.cc has tests/FOLDER/x_test.cc, and a test has its source (x.cc, or x.h if it is only a header). A main.cc
needs no test, and neither does a file with this among its first lines: // No test of its own: REASON
"""

import pathlib
import re
import sys

import tracked

FOLDERS = ("common/", "replay_server/", "param_server/", "learner/", "actor/", "cli/")
EXCUSE = re.compile(r"^// No test of its own: \S+")
FIRST_LINES = 5


def has_excuse(path):
    return any(EXCUSE.match(line) for line in path.read_text().splitlines()[:FIRST_LINES])


def findings(root):
    names = tracked.files(root)
    known = set(names)
    for name in names:
        if name.startswith(FOLDERS) and name.endswith(".cc") and not name.endswith("main.cc"):
            test = f"tests/{name[:-len('.cc')]}_test.cc"
            if test not in known and not has_excuse(root / name):
                yield f"{name}:1: has no {test}; write it, or say at the top: // No test of its own: REASON"
        elif name.startswith("tests/") and name.endswith("_test.cc"):
            stem = name[len("tests/") : -len("_test.cc")]
            # Tests directly under such a folder are for whole processes, or for the tests' own tools.
            if stem.startswith(FOLDERS) and not {f"{stem}.cc", f"{stem}.h"} & known:
                yield f"{name}:1: tests {stem}.cc or {stem}.h, and there is neither"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tracked.ROOT
    count = 0
    for finding in findings(root):
        print(finding)
        count += 1
    return 1 if count > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
