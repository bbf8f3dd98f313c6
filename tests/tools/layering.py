#!/usr/bin/env python3
"""Checks which folder includes which.

usage: layering.py [ROOT]

A file includes what its own layer or a lower one holds. Between folders: proto -> common -> {replay_server,
param_server, learner, actor} -> cli, where the four in the middle never include one another; tests include what they
like. Inside common, LAYERS gives the order.
"""

import pathlib
import re
import sys

# From the bottom up. A file belongs to the longest entry that its path starts with; entries of one line are one layer
# and do not include one another.
LAYERS = [
    ["common/base/"],
    ["common/tensor/", "common/config/", "common/metrics/"],
    ["common/rl/environment_spec."],
    ["common/api/"],
    # What an algorithm says before there is a network: its tables, its policy's interface, the network's description.
    ["common/rl/table_plan.", "common/rl/policy.", "common/nn/network_spec."],
    ["common/experiment/"],
    ["common/checkpoint/", "common/rpc/", "common/nn/"],
    ["common/clients/", "common/rl/"],
    ["common/process/", "common/replay_file/", "common/rl/algorithms/"],
    ["replay_server/", "param_server/", "learner/", "actor/"],
    ["cli/"],
    ["tests/"],
]

FOLDERS = ["common", "replay_server", "param_server", "learner", "actor", "cli", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]((?:%s)/[^">]+)[">]' % "|".join(FOLDERS))


def entry_of(path):
    """The entry that a path belongs to and its level, or (None, None)."""
    matches = [(entry, level) for level, entries in enumerate(LAYERS) for entry in entries if path.startswith(entry)]
    return max(matches, key=lambda match: len(match[0]), default=(None, None))


def may_include(path, included):
    entry, level = entry_of(path)
    other, other_level = entry_of(included)
    return other_level < level or entry == other


def findings(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(root).as_posix()
            if entry_of(name)[0] is None:
                yield f"{name}:1: {pathlib.PurePosixPath(name).parent} has no layer: add it to LAYERS in layering.py"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                if entry_of(match[1])[0] is None:
                    yield f"{name}:{number}: {match[1]} has no layer: add it to LAYERS in layering.py"
                elif not may_include(name, match[1]):
                    yield f"{name}:{number}: {entry_of(name)[0]} may not include {match[1]}, of the same or a higher layer"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    count = 0
    for finding in findings(root):
        print(finding)
        count += 1
    return 1 if count > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
