#!/usr/bin/env python3
"""Writes the code of a page's blocks to files.

usage: extract_code.py PAGE FOLDER PATH...

The block of PATH is the one behind a line that ends with `PATH`:. It is written to FOLDER/PATH. Fails unless each PATH has
one block.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"`([^`\n]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_of(page, path):
    code = [text for name, text in BLOCK.findall(page.read_text()) if name == path]
    if len(code) != 1:
        sys.exit(f"{page}: has {len(code)} blocks of code behind a line that ends with `{path}`:; wanted 1")
    return code[0]


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for path in sys.argv[3:]:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code_of(page, path))


if __name__ == "__main__":
    main()
