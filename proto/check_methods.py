#!/usr/bin/env python3
"""Fails unless common/net/security/method_access.cc has a row for each method of the protos, and no others.

usage: check_methods.py TABLE PROTO …
"""

import pathlib
import re
import sys

# Served by the gRPC library, so no proto here has them.
OF_THE_LIBRARY = re.compile(r"/grpc\.")


def methods_of(text):
    package = re.search(r"^package\s+([\w.]+);", text, re.MULTILINE)
    for service in re.finditer(r"^service\s+(\w+)\s*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        for method in re.findall(r"^\s*rpc\s+(\w+)", service[2], re.MULTILINE):
            yield f"/{package[1]}.{service[1]}/{method}"


def main():
    rows = re.findall(r'\{"(/[^"]+)",', pathlib.Path(sys.argv[1]).read_text())
    rows = [row for row in rows if not OF_THE_LIBRARY.match(row)]
    methods = [method for proto in sys.argv[2:] for method in methods_of(pathlib.Path(proto).read_text())]
    problems = [f"{method}: no row says who may call it" for method in methods if method not in rows]
    problems += [f"{row}: no proto has this method" for row in rows if row not in methods]
    problems += [f"{row}: has two rows" for row in set(rows) if rows.count(row) > 1]
    for problem in problems:
        print(f"{sys.argv[1]}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
