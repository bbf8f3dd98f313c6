"""The files of the repository: all that git tracks or would track, without built or downloaded ones."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(root):
    """Paths relative to `root`, sorted. All files of a folder that is not a repository."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    return sorted({name for name in names if name and (root / name).is_file()})


def report(findings):
    """Prints the findings in the folder that the command line names, by default this repository. Returns 1 if any."""
    found = list(findings(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0
