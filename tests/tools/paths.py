#!/usr/bin/env python3
"""Checks that no file of the repository names a path or host of one machine.

usage: paths.py [ROOT]

Absolute paths of a home or working folder, and hosts of package mirrors: such a file works on one machine only.
"""

import re
import sys

import tracked

# A path starts at the start of a word; in the middle of a relative path or of an address there is none.
PATH = re.compile(rb"(?<![\w./~-])/(?:work|root|home|Users|mnt|workspace)/[\w.-]")
# Mirrors and registries, by usual names of such hosts, and hosts that only one network knows.
HOST = re.compile(
    rb"\b(?:[\w-]+\.)*(?:artifactory|nexus|jfrog|(?:pypi|apt|registry)-mirror|package-registry)[\w-]*(?:\.[\w-]+)+"
    rb"|\bhttps?://(?:[\w-]+\.)+(?:internal|corp|lan|local)\b"
    rb"|\bhttps?://\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?/\S*simple"
    rb"|\bPIP_INDEX_URL="
)
CONTAINER_FILES = ("deploy/",)  # A container's own file system is the same on every machine.


def findings(root):
    for name in tracked.files(root):
        for number, line in enumerate((root / name).read_bytes().splitlines(), 1):
            patterns = [HOST] if name.startswith(CONTAINER_FILES) else [PATH, HOST]
            for pattern in patterns:
                match = pattern.search(line)
                if match is not None:
                    found = match[0].decode(errors="replace")
                    yield f"{name}:{number}: \"{found}\" is of one machine only"


if __name__ == "__main__":
    sys.exit(tracked.report(findings))
