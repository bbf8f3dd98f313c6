#!/usr/bin/env python3
"""A pool works for long while experiments come and go: no server's memory may grow.

usage: soak.py [--seconds 3600] [--warm-up 600] [--limit-percent 1] [--bin DIR] [--keep DIR]

Samples the resident memory of each process every five seconds. Prints by how much the median of the last third, after the
warm-up, is above that of the first third. Exits with 1 if that of the hub or a replay server is above the limit, if a process
ended, or if an experiment failed. Other processes are shown, and do not count: allocators of a learner and an actor keep
memory by the size of what they have worked on.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections import defaultdict

import history
import staged
import volume
import wire
from chaos_context import PATIENCE, Chaos
from experiments import KINDS, Conveyor
from hub_watch import HubWatch
from pool import Pool

SAMPLE_SECONDS = 5
SERVERS = ("hub", "replay")


def resident_bytes(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return None


def growth(samples):
    """The medians of the first and the last third of (time, bytes), and the growth in percent."""
    third = len(samples) // 3
    if third == 0:
        return None
    first, last = (statistics.median(size for _, size in part) for part in (samples[:third], samples[-third:]))
    return first, last, 100 * (last - first) / first


def soak(arguments, folder):
    messages = wire.Wire(staged.stage(folder / "stage"))
    record = history.History(folder / "history.jsonl")
    pool = Pool(folder, arguments.bin, 0, lambda ending: chaos.ended(ending))
    chaos = Chaos(pool, messages, record, lambda text: print(text, flush=True))
    samples = defaultdict(list)
    try:
        with pool:
            pool.await_hub(PATIENCE)
            with HubWatch(messages, pool, record) as watch:
                conveyors = [Conveyor(kind, pool, watch, 1) for kind in KINDS]
                due = 0.0
                while chaos.now() < arguments.seconds:
                    for conveyor in conveyors:
                        said = conveyor.tend(True)
                        if said is not None:
                            chaos.say(said)
                    if chaos.now() >= due:
                        due = chaos.now() + SAMPLE_SECONDS
                        for name in pool.names():
                            size = resident_bytes(pool[name].pid)
                            if size is not None:
                                samples[name].append((chaos.now(), size))
                                record.add(op="memory", process=name, bytes=size)
                    time.sleep(0.2)
                for conveyor in conveyors:
                    chaos.violations += conveyor.problems
            chaos.over.set()
    finally:
        record.close()
        pool.remove_volumes()
    return chaos.violations + report(arguments, pool, samples)


def report(arguments, pool, samples):
    problems = []
    for name in pool.names():
        warm = [sample for sample in samples[name] if sample[0] >= arguments.warm_up]
        found = growth(warm)
        if found is None:
            problems.append(f"{name}: got {len(warm)} samples after the warm-up; wanted at least 3")
            continue
        first, last, percent = found
        counts = pool[name].kind in SERVERS
        print(f"{name:12} {first / 1e6:8.1f} MB -> {last / 1e6:8.1f} MB  {percent:+6.2f} %{'' if counts else '  (shown only)'}")
        if counts and percent > arguments.limit_percent:
            problems.append(f"{name} grew by {percent:.2f} %; wanted at most {arguments.limit_percent:g} %")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--warm-up", type=float, default=600)
    parser.add_argument("--limit-percent", type=float, default=1.0)
    parser.add_argument("--bin", type=pathlib.Path, default=staged.ROOT / "build" / "release" / "bin")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    volume.enter_private_mounts(__file__)
    with tempfile.TemporaryDirectory(prefix="waggle-soak-") as temporary:
        folder = pathlib.Path(temporary)
        if arguments.keep is not None:
            folder = arguments.keep.resolve()
            folder.mkdir(parents=True)
        problems = soak(arguments, folder)
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
