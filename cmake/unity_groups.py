#!/usr/bin/env python3
"""Groups sources that are compiled together.

usage: unity_groups.py LINES < TARGETS

Each line of the standard input is a target and its sources, with semicolons between them; the first two are the target
and the folder of the sources. For each source that shares a group with another, prints "TARGET;PATH;GROUP". A group
has at most LINES lines, and no two of its sources declare the same name. Sources have helpers in unnamed namespaces;
no other source of the group may even mention the name of such a helper, so that it is not taken for something else.
"""

import pathlib
import re
import sys

# Declarations at the beginning of a line: a type, an alias, a constant or a variable, a function.
NAMES = re.compile(
    r"^(?:template\b.*\n)?(?:"
    r"(?:struct|class|union|enum(?: class)?)\s+(?:\w+\([^)]*\)\s+)?(\w+)|"
    r"using\s+(\w+)\s*=|"
    r"(?![ }#/])[\w:<>,*&\[\] ]*?\b(\w+)(?:\[[^\]\n]*\])?\s*(?:=|\{|;)|"
    r"(?![ }#/])[\w:<>,*&\[\] ]*?[ *&](\w+)\("
    r")",
    re.MULTILINE,
)
# An alias with the name of another file's declaration; two files may have it without a clash.
TAKEN_OVER = re.compile(r"^using\s+[\w:]+::(\w+);", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//.*")
NOT_NAMES = {"namespace", "TEST_CASE", "TEMPLATE_TEST_CASE", "waggle", "testing"}


def names_of(text):
    return {name for match in NAMES.finditer(text) for name in match.groups() if name} - NOT_NAMES


class Source:
    def __init__(self, folder, name):
        self.path = f"{folder}/{name}"
        text = pathlib.Path(self.path).read_text()
        self.lines = text.count("\n")
        text = TAKEN_OVER.sub("", text)
        self.declared = names_of(text)
        self.helpers = set().union(*map(names_of, UNNAMED.findall(text)))
        text = COMMENT.sub("", text)
        self.words = set(re.findall(r"\w+", text))

    def clashes(self, other):
        return self.declared & other.declared or self.helpers & other.words or self.words & other.helpers


def groups_of(sources, most_lines):
    """Lists of sources. Each is put into the first list that has room and no clash with it."""
    groups = []
    for source in sources:
        for group in groups:
            has_room = sum(other.lines for other in group) + source.lines <= most_lines
            if has_room and not any(source.clashes(other) for other in group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def main():
    most_lines = int(sys.argv[1])
    for line in sys.stdin:
        target, folder, *sources = line.strip().rstrip(";").split(";")
        sources = [Source(folder, name) for name in sources]
        for number, group in enumerate(groups_of(sources, most_lines)):
            for source in group if len(group) > 1 else []:
                print(f"{target};{source.path};{number}")


if __name__ == "__main__":
    main()
