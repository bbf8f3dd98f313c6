#!/usr/bin/env python3
"""Checks comments, strings and pages for phrases that have to be read twice: see "Plain English" in CONTRIBUTING.md.

usage: prose.py [ROOT]
"""

import pathlib
import re
import sys

import tracked

SOURCES = (".cc", ".h", ".c", ".proto")
# Anywhere in a text.
PHRASES = re.compile(
    r"\b(whoever|whomever|nobody|somebody|who|(?<!there )is none|is to be|are to be)\b", re.IGNORECASE
)
# The first word of a comment: a clause or a possessive that has no subject.
FIRST_WORDS = re.compile(r"(Of|What|Whatever|Whether|Who|Whoever|Whose|That which)\b(?! course)")
QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
TOKENS = re.compile(r'//(?P<comment>[^\n]*)|/\*(?P<block>.*?)\*/|"(?P<string>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def in_source(text):
    """Offsets and reasons."""
    end_of_comment = -1
    for token in TOKENS.finditer(text):
        group = token.lastgroup
        if group is None:
            continue
        words = token[group]
        for phrase in PHRASES.finditer(words) if " " in words else []:  # One word is a key.
            yield token.start(group) + phrase.start(), phrase[0]
        if group == "comment":
            # A comment of several lines is one text; one behind code is a text of its own.
            line = text.rfind("\n", 0, token.start()) + 1
            alone = text[line : token.start()].strip() == ""
            continues = alone and text[end_of_comment:line].strip() == "" and end_of_comment >= 0
            first = FIRST_WORDS.match(words.lstrip("/< "))
            if first and not continues:
                yield token.start(), first[0]
            end_of_comment = token.end() if alone else -1


def in_page(text):
    in_code = False
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            words = QUOTED.sub(lambda quoted: " " * len(quoted[0]), line)  # An example of what must not be written.
            for phrase in PHRASES.finditer(words):
                if phrase[0].lower() == "who":  # In a page, "engineers who run Ape-X" is plain.
                    continue
                yield offset + phrase.start(), phrase[0]
        offset += len(line)


def findings(root):
    for name in tracked.files(root):
        if name.endswith(SOURCES):
            find = in_source
        elif name.endswith(".md"):
            find = in_page
        else:
            continue
        text = (root / name).read_text()
        for offset, phrase in find(text):
            line = text.count("\n", 0, offset) + 1
            yield f'{name}:{line}: "{phrase}": name the subject'


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tracked.ROOT
    count = 0
    for finding in findings(root):
        print(finding)
        count += 1
    return 1 if count > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
