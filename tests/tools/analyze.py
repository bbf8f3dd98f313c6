#!/usr/bin/env python3
"""Checks the sources of a configured build one by one, as errors. Nothing is built but precompiled headers.

usage: analyze.py BUILD_DIR           Clang's thread-safety analysis
       analyze.py --torch BUILD_DIR   checks that each source that includes LibTorch's headers compiles by itself

The commands are Ninja's, with the compiler launcher, so a compiler cache serves files that have not changed. Generated
code and tests are left out, except the fuzzers, which nothing else compiles before they run. Every file is checked with
its own compiler flags.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

THREAD_SAFETY = ["-Wthread-safety", "-Werror=thread-safety", "-Wno-unused-command-line-argument"]
TORCH_HEADER = "torch_header.dir"  # The target of the precompiled headers of LibTorch: see cmake/WaggleTargets.cmake.


def command_for(entry, flags):
    """The entry's command with `flags`, and no code generation."""
    words = [word for word in shlex.split(entry["command"]) if word != "-c"]
    at = words.index("-o")
    # The cache needs the list of read files, which is written beside the object that is not made.
    os.makedirs(os.path.dirname(os.path.join(entry["directory"], words[at + 1])), exist_ok=True)
    return words[:at] + words[at + 2 :] + ["-fsyntax-only", *flags]


def build_precompiled(build, target):
    """Builds the precompiled headers of a target."""
    outputs = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    names = [line.split(":")[0] for line in outputs.stdout.splitlines()]
    headers = [name for name in names if target in name and name.endswith((".gch", ".pch"))]
    if headers:
        subprocess.run(["ninja", "-C", build, *headers], stdout=subprocess.DEVNULL, check=True)


def main():
    torch = sys.argv[1] == "--torch"
    build = pathlib.Path(sys.argv[-1])
    root = pathlib.Path(__file__).resolve().parents[2]
    commands = subprocess.run(["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    entries = []
    for entry in json.loads(commands):
        path = pathlib.Path(entry["directory"], entry["file"])
        is_test = root / "tests" in path.parents and root / "tests/fuzz" not in path.parents
        is_ours = root in path.parents and (root / "build") not in path.parents and path.suffix == ".cc"
        if is_ours and not is_test and (not torch or TORCH_HEADER in entry["command"]):
            entries.append(entry)
    if not entries:
        sys.exit(f"analyze: {build} has no sources of Waggle")

    if torch:
        build_precompiled(build, TORCH_HEADER)
    flags = [] if torch else THREAD_SAFETY

    def check(entry):
        command = command_for(entry, flags)
        return entry["file"], subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, result in pool.map(check, entries):
            if result.returncode != 0 or "-Wthread-safety" in result.stderr:
                failed += 1
                print(f"{file}:\n{result.stderr}", file=sys.stderr)
    print(f"{'LibTorch' if torch else 'thread-safety analysis'}: {len(entries)} files, {failed} with findings")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
