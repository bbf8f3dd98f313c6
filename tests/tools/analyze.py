#!/usr/bin/env python3
"""Runs Clang's thread-safety analysis over the sources of a configured build, as errors.

usage: analyze.py BUILD_DIR

The commands are Ninja's, with the compiler launcher: a compiler cache answers for files that have not changed. Generated
code and tests are left out, except the fuzzers, which nothing else compiles before they run. Nothing is built: every
file is only checked, with its own compiler flags.
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
    """The entry's command with the analysis in place of code generation."""
    words = [word for word in shlex.split(entry["command"]) if word != "-c"]
    at = words.index("-o")
    # The cache needs the list of read files, which is written beside the object that is not made.
    os.makedirs(os.path.dirname(os.path.join(entry["directory"], words[at + 1])), exist_ok=True)
    return words[:at] + words[at + 2 :] + FLAGS


def main():
    build = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parents[2]
    commands = subprocess.run(["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    entries = []
    for entry in json.loads(commands):
        path = pathlib.Path(entry["directory"], entry["file"])
        is_test = root / "tests" in path.parents and root / "tests/fuzz" not in path.parents
        is_ours = root in path.parents and (root / "build") not in path.parents and path.suffix == ".cc"
        if is_ours and not is_test:
            entries.append(entry)
    if not entries:
        sys.exit(f"analyze: {build} has no sources of Waggle")

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
