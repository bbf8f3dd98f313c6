#!/usr/bin/env python3
"""Runs Clang's thread-safety analysis over the sources of a configured build, as errors.

usage: analyze.py BUILD_DIR

Reads BUILD_DIR/compile_commands.json; generated code and tests are left out, but for the fuzzers: nobody else compiles
those before they run. Nothing is built: every file is only checked, with the flags it is compiled with.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

FLAGS = ["-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", "-Wno-unused-command-line-argument"]


def command_for(entry):
    words = shlex.split(entry["command"])
    # A compiler launcher such as ccache stands before the compiler.
    start = next(i for i, word in enumerate(words) if "clang" in os.path.basename(word) and "=" not in word)
    kept, skip = [], False
    for word in words[start:]:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word not in ("-c",):
            kept.append(word)
    return kept + FLAGS


def main():
    build = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parents[2]
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        is_test = root / "tests" in path.parents and root / "tests/fuzz" not in path.parents
        if root in path.parents and (root / "build") not in path.parents and not is_test:
            entries.append(entry)
    if not entries:
        sys.exit(f"analyze: {build} has no sources of ours")

    def check(entry):
        return entry["file"], subprocess.run(command_for(entry), cwd=entry["directory"], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, result in pool.map(check, entries):
            if result.returncode != 0 or "-Wthread-safety" in result.stderr:
                failed += 1
                print(f"{file}:\n{result.stderr}", file=sys.stderr)
    print(f"thread-safety analysis: {len(entries)} files, {failed} with findings")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
