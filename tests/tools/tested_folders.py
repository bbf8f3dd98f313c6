#!/usr/bin/env python3
"""Checks that each folder of sources has tests, and each folder of tests its sources.

usage: tested_folders.py [ROOT]

FOLDER with a source other than a main.cc has a test in tests/FOLDER, or in the folder around that.
"""

import sys

import tracked

FOLDERS = ("common/", "replay_server/", "param_server/", "learner/", "actor/", "cli/")


def findings(root):
    folders = {}
    tested = set()
    for name in tracked.files(root):
        folder = name.rpartition("/")[0]
        if name.startswith(FOLDERS) and name.endswith((".cc", ".h")):
            has_source = name.endswith(".cc") and not name.endswith("main.cc")
            folders[folder] = folders.get(folder, False) or has_source
        elif name.startswith("tests/") and name.endswith("_test.cc"):
            tested.add(folder[len("tests/"):])
    for folder, has_source in folders.items():
        if has_source and not {folder, folder.rpartition("/")[0]} & tested:
            yield f"{folder}:1: has no tests in tests/{folder}"
    for folder in sorted(tested):
        if f"{folder}/".startswith(FOLDERS) and folder not in folders:
            yield f"tests/{folder}:1: tests {folder}, which has no sources"


if __name__ == "__main__":
    sys.exit(tracked.report(findings))
