#!/usr/bin/env python3
"""Says which sources are compiled together.

usage: unity_groups.py LINES < TARGETS

Each line of the standard input is a target and its sources, with semicolons between them; the first two are the target
and the folder of the sources. For each source that shares a group with another, prints "TARGET;PATH;GROUP". A group
has at most LINES lines, and no two of its sources give one name to two things: files have helpers of their own, in
unnamed namespaces, and call them what fits there.
"""

import pathlib
import re
import sys

# What is declared at the beginning of a line: a type, an alias, a constant or a variable, a function.
NAMES = re.compile(
    r"^(?:template\b.*\n)?(?:"
    r"(?:struct|class|union|enum(?: class)?)\s+(?:\w+\([^)]*\)\s+)?(\w+)|"
    r"using\s+(\w+)\s*=|"
    r"(?![ }#/])[\w:<>,*&\[\] ]*?\b(\w+)(?:\[[^\]\n]*\])?\s*(?:=|\{|;)|"
    r"(?![ }#/])[\w:<>,*&\[\] ]*?[ *&](\w+)\("
    r")",
    re.MULTILINE,
)
# A name that another file's declaration is taken over by; that two files do so is no clash.
TAKEN_OVER = re.compile(r"^using\s+[\w:]+::(\w+);", re.MULTILINE)
NOT_NAMES = {"namespace", "TEST_CASE", "TEMPLATE_TEST_CASE", "waggle", "testing"}


def names_of(text):
    """What a source declares, and what it takes over."""
    taken_over = set(TAKEN_OVER.findall(text))
    text = TAKEN_OVER.sub("", text)
    return {name for match in NAMES.finditer(text) for name in match.groups() if name} - NOT_NAMES, taken_over


def groups_of(sources, most_lines):
    """Lists of sources, each put into the first list that has room and none of its names."""
    groups = []
    for source, text in sources:
        declared, taken_over = names_of(text)
        lines = text.count("\n")
        for group in groups:
            clashes = declared & (group["declared"] | group["taken_over"]) or taken_over & group["declared"]
            if group["lines"] + lines <= most_lines and not clashes:
                break
        else:
            group = {"sources": [], "declared": set(), "taken_over": set(), "lines": 0}
            groups.append(group)
        group["sources"].append(source)
        group["declared"] |= declared
        group["taken_over"] |= taken_over
        group["lines"] += lines
    return [group["sources"] for group in groups]


def main():
    most_lines = int(sys.argv[1])
    for line in sys.stdin:
        target, folder, *sources = line.strip().split(";")
        texts = [(source, (pathlib.Path(folder) / source).read_text()) for source in sources]
        for number, group in enumerate(groups_of(texts, most_lines)):
            for source in group if len(group) > 1 else []:
                print(f"{target};{folder}/{source};{number}")


if __name__ == "__main__":
    main()
