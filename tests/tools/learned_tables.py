#!/usr/bin/env python3
"""Writes what `./dev learn` has measured into the pages of docs/algorithms and docs/self_play.md, and its curves into
docs/curves.

usage: learned_tables.py build/learn

A page's command `waggle run configs/NAME.yaml` is followed by the curve of NAME and by a table whose first column is
"seed". The rows of the table become those of the runs NAME-1, NAME-2 and so on; a curve that is not there is added.
Experiments without such a table are named.
"""

import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = re.compile(r" {4}waggle run configs/(\w+)\.yaml( --seed 1)?$")
HEADER = "| seed | environment steps | mean return of 100 greedy episodes | seconds |"


def row(run):
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    result = summary["result"] or {"env_steps": 0, "mean_return": float("nan")}
    seconds = summary["wall_seconds"]
    missed = "" if summary["outcome"] == "solved" else ", missed"
    mean = result["mean_return"]
    return (f"| {run.name.rsplit('-', 1)[1]} | {result['env_steps']:,}{missed} | {mean:.{2 if abs(mean) < 10 else 1}f} "
            f"| {seconds:.{1 if seconds < 10 else 0}f} |")


def rewritten(lines, learned, done, curves="../curves"):
    """The page's lines with the rows of `learned`, by experiment. Adds each experiment that has a table to `done`.
    `curves`: the folder of curves as the page's links name it."""
    result = []
    name = None
    at = 0
    while at < len(lines):
        line = lines[at]
        result.append(line)
        at += 1
        if line.startswith("#"):
            name = None
        if command := COMMAND.match(line):
            name = command[1] if command[1] in learned else None
            curve = f"![Returns over environment steps and seconds]({curves}/{name}.png)"
            if name and curve not in lines:
                result += ["", curve]
        elif line == HEADER and name:
            result.append(lines[at])
            result += [row(run) for run in learned[name]]
            done.add(name)
            at += 1
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            name = None
    return result


def main():
    if len(sys.argv) != 2 or not (folder := pathlib.Path(sys.argv[1])).is_dir():
        sys.exit("usage: learned_tables.py build/learn, which ./dev learn makes")
    learned = {}
    for summary in sorted(folder.glob("*-[0-9]*/summary.json")):
        learned.setdefault(summary.parent.name.rsplit("-", 1)[0], []).append(summary.parent)
    done = set()
    text = ""
    docs = ROOT / "docs"
    for page in [*sorted((docs / "algorithms").glob("*.md")), docs / "self_play.md"]:
        curves = os.path.relpath(docs / "curves", page.parent)
        lines = rewritten(page.read_text(encoding="utf-8").split("\n"), learned, done, curves)
        page.write_text("\n".join(lines), encoding="utf-8")
        text += page.read_text(encoding="utf-8")
    for name in sorted(learned):
        if name not in done:
            print(f"{name}: no table is in the pages")
        if f"curves/{name}.png)" in text and (folder / f"{name}.png").exists():
            shutil.copyfile(folder / f"{name}.png", ROOT / "docs" / "curves" / f"{name}.png")


if __name__ == "__main__":
    main()
