#!/usr/bin/env python3
"""Checks the includes between folders.

usage: layering.py [ROOT]

A file includes only files of its own layer or a lower one. Between folders: proto -> common -> {replay_server,
param_server, learner, actor} -> cli; the four in the middle never include one another. Tests may include any file.
LAYERS gives the order of the folders. No folder holds more than MOST_FILES sources, with headers: a listing is read as a
whole.
"""

import collections
import pathlib
import re
import sys

import tracked

# From the bottom up. A file belongs to the longest entry with which its path starts. The entries of a line are one
# layer, and do not include one another.
LAYERS = [
    ["common/base/"],
    ["common/base/tensor/", "common/config/", "common/base/metrics/"],
    ["common/config/spec/", "common/config/table/"],
    ["common/hub/ports/", "common/replay/ports/"],
    ["common/config/plan/", "common/replay/blocks/"],
    ["common/config/experiment/", "common/rl/checkpoint/", "common/net/", "common/nn/", "common/replay/shards/",
     "common/hub/summary/"],
    ["common/hub/", "common/rl/publishing/", "common/onnx/", "common/replay/", "common/rl/kit/"],
    ["common/rl/acting/"],
    ["common/rl/training/"],
    ["common/rl/modules/"],
    ["common/hub/gradients/", "common/hub/inference/", "common/base/process/", "common/replay/file/",
     "common/rl/algorithms/"],
    ["replay_server/base/"],
    ["replay_server/selectors/", "replay_server/rows/"],
    ["replay_server/items/"],
    ["replay_server/batches/"],
    ["replay_server/table/"],
    ["replay_server/writers/", "replay_server/diagnose/"],
    ["replay_server/store/"],
    ["replay_server/storage/"],
    ["replay_server/service/"],
    ["param_server/models/", "param_server/pool/", "param_server/gradients/"],
    ["param_server/run/"],
    ["param_server/metrics/"],
    ["replay_server/", "param_server/", "learner/", "actor/"],
    ["cli/"],
    ["tests/"],
]
# These never include one another, whatever their layers.
APART = ["replay_server/", "param_server/", "learner/", "actor/"]

MOST_FILES = 40

FOLDERS = ["common", "replay_server", "param_server", "learner", "actor", "cli", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]((?:%s)/[^">]+)[">]' % "|".join(FOLDERS))


def entry_of(path):
    """The entry that a path belongs to and its level, or (None, None)."""
    matches = [(entry, level) for level, entries in enumerate(LAYERS) for entry in entries if path.startswith(entry)]
    return max(matches, key=lambda match: len(match[0]), default=(None, None))


def may_include(path, included):
    entry, level = entry_of(path)
    other, other_level = entry_of(included)
    sides = {side for name in (path, included) for side in APART if name.startswith(side)}
    return len(sides) < 2 and (other_level < level or entry == other)


def findings(root):
    sources = collections.Counter()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(root).as_posix()
            sources[pathlib.PurePosixPath(name).parent] += 1
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
                    yield (
                        f"{name}:{number}: {entry_of(name)[0]} may not include {match[1]}: it is of the same or a higher "
                        "layer, or of another process"
                    )
    for folder, count in sources.items():
        if count > MOST_FILES:
            yield f"{folder}:1: holds {count} sources, more than {MOST_FILES}: give those that belong together a folder"


if __name__ == "__main__":
    sys.exit(tracked.report(findings))
