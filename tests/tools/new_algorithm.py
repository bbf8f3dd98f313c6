#!/usr/bin/env python3
"""Writes the files of a new algorithm: those of Q-learning in docs/authoring.md, under another name.

usage: new_algorithm.py NAME [ROOT]
"""

import pathlib
import re
import shutil
import subprocess
import sys

import tracked
from extract_code import code_of

FOLDER = "common/rl/algorithms"
FILES = [
    f"{FOLDER}/dqn/dqn.h",
    f"{FOLDER}/dqn/definition.cc",
    f"{FOLDER}/dqn/update.cc",
    f"tests/{FOLDER}/dqn/update_test.cc",
    "configs/cartpole_dqn.yaml",
    "docs/algorithms/dqn.md",
]
LIST = f"{FOLDER}/list.inc"
NEXT = """
It is Q-learning so far. Next:
  {folder}/{name}/{name}.h, definition.cc: the options, their ranges, the plan
  {folder}/{name}/update.cc: the loss
  tests/{folder}/{name}/update_test.cc: a slow reference of it
  ./dev conformance {name}
  ./dev run configs/cartpole_{name}.yaml
  docs/authoring.md has the parts that there are, and help if it does not learn.
"""


def class_of(name):
    return "".join(part.capitalize() for part in name.split("_"))


def renamed(text, name):
    return re.sub("(?<!apex_)dqn", name, text.replace("Dqn", class_of(name)))


def is_taken(root, name):
    """True if a header that algorithms include has a class that the new one would have."""
    taken = re.compile(rf"\b(?:class|struct) {class_of(name)}(?:Options)?\b")
    return any(taken.search(path.read_text()) for path in (root / "common").rglob("*.h"))


def listed(text, name):
    """The list with a line for the algorithm, in its order."""
    lines = text.splitlines()
    comments = [line for line in lines if not line.startswith("WAGGLE_ALGORITHM(")]
    entries = [line for line in lines if line.startswith("WAGGLE_ALGORITHM(")]
    return "\n".join(comments + sorted(entries + [f"WAGGLE_ALGORITHM({name})"])) + "\n"


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    root = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else tracked.ROOT
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > 30:
        sys.exit(f"name: got {name or 'none'}; wanted at most 30 letters a to z, digits and single underscores")
    if (root / FOLDER / name).exists():
        sys.exit(f"name: got {name}; wanted a new one: {FOLDER}/{name} exists")
    page = root / "docs/authoring.md"
    if not page.exists():
        sys.exit(f"ROOT: got {root}; wanted a checkout of Waggle, or none")
    if is_taken(root, name):
        sys.exit(f"name: got {name}; wanted another one: there is a class {class_of(name)} or {class_of(name)}Options")
    files = {renamed(path, name): renamed(code_of(page, path), name) for path in FILES}
    files[LIST] = listed((root / LIST).read_text(), name)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        print(path)
    if formatter := shutil.which("clang-format-14"):  # The name's length and place among the includes matter.
        subprocess.run([formatter, "-i", *(path for path in files if path.endswith((".h", ".cc")))], cwd=root, check=True)
    print(NEXT.format(folder=FOLDER, name=name), end="")


if __name__ == "__main__":
    main()
