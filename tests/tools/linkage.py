#!/usr/bin/env python3
"""Checks that programs that need no LibTorch do not link it.

usage: linkage.py BUILD_DIR

Looks at BUILD_DIR/bin, with ldd, so that a library that another library needs counts as well.
"""

import pathlib
import re
import subprocess
import sys

import tracked

WITHOUT_TORCH = ["waggle", "waggle-param-server", "waggle-replay-server"]
TORCH = re.compile(r"\blib(?:torch|c10)[^\s/]*\.so[^\s]*")


def libraries(program):
    """The output of ldd for a program; an error if it is not a dynamic program, which would otherwise pass unseen."""
    result = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"ldd {program}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def findings(build, list_libraries=libraries):
    for name in WITHOUT_TORCH:
        program = build / "bin" / name
        if not program.is_file():
            yield f"{program}: is not built, so it cannot be checked"
            continue
        try:
            linked = sorted(set(TORCH.findall(list_libraries(program))))
        except RuntimeError as error:
            yield str(error)
            continue
        if linked:
            yield f"{program}: links {', '.join(linked)}, and must not need LibTorch"


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return tracked.report(findings)


if __name__ == "__main__":
    sys.exit(main())
