#!/usr/bin/env python3
"""Runs a pool of Waggle on this machine, makes faults, and checks that every promise is kept. docs/chaos.md explains it.

usage: waggle_chaos.py --seed N [--seconds 120] [--bin DIR] [--keep DIR] [--faults NAME,NAME] [--list]

Exits with 0 if there was no violation, else with 1.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import fault_table
import history
import recorded_tables
import schedule
import staged
import table_contents
import volume
import wire
from chaos_context import PATIENCE, Chaos
from experiments import KINDS, Conveyor
from fault_runner import FaultRunner
from history_checker import acknowledged_items, item_problems
from hub_watch import HubWatch
from pool import REPLAYS, Pool

HERE = pathlib.Path(__file__).resolve().parent


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="how long faults are made")
    parser.add_argument("--bin", type=pathlib.Path, default=staged.ROOT / "build" / "release" / "bin",
                        help="the folder of the executables")
    parser.add_argument("--keep", type=pathlib.Path, help="a new folder for logs and history, which is kept in any case")
    parser.add_argument("--faults", help="only these, separated by commas")
    parser.add_argument("--patience", type=float, default=PATIENCE * 2,
                        help="seconds after the last fault in which experiments must reach their goals")
    parser.add_argument("--list", action="store_true", help="print the table of all faults, and end")
    parser.add_argument("--lie", choices=sorted(recorded_tables.LIES), default="",
                        help="break a promise on purpose, to see that it is found: durability or early")
    return parser.parse_args(words)


class Run:
    """One run, in `folder`."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.outcomes = []
        self.acknowledged = 0
        self.cuts = 0
        self.faults = fault_table.by_name(arguments.faults.split(",")) if arguments.faults else fault_table.FAULTS

    def run(self):
        """Returns the list of violations, the number of faults, and their seconds."""
        stage = staged.stage(self.folder / "stage")
        messages = wire.Wire(stage)
        record = history.History(self.folder / "history.jsonl")
        chaos = None
        pool = Pool(self.folder, self.arguments.bin, self.arguments.seed, lambda ending: chaos.ended(ending))
        chaos = self._chaos = Chaos(pool, messages, record, lambda text: print(text, flush=True))
        try:
            with pool:
                pool.await_hub(PATIENCE)
                with HubWatch(messages, pool, record) as watch:
                    self._run_in(chaos, watch, stage)
                chaos.over.set()
        finally:
            record.close()
            if chaos.violations:
                for name, disk in pool.volumes.items():
                    disk.keep(self.folder / "data_at_end" / name)
            pool.remove_volumes()
        return chaos.violations

    def _targets(self, fault):
        if fault.targets == ("ways",):
            return list(self._chaos.pool.proxies.proxies)
        return self._chaos.pool.names(*fault.targets) if fault.targets else []

    def _run_in(self, chaos, watch, stage):
        pool, seed = chaos.pool, self.arguments.seed
        planned = schedule.plan(seed, self.arguments.seconds, self.faults, self._targets)
        conveyors = [Conveyor(kind, pool, watch, 100 * seed) for kind in KINDS]
        client = self._start_client(pool, stage)
        self._await_client()
        chaos.start = time.monotonic()
        runner = FaultRunner(chaos, planned)

        def tend(more=True):
            for conveyor in conveyors:
                said = conveyor.tend(more)
                if said is not None:
                    chaos.say(f"     {said}")

        runner.run(tend)
        pool.proxies.heal()
        self.faults_made = runner.done
        self.fault_seconds = chaos.now()
        self._live_on(chaos, conveyors, tend)
        self._end_client(chaos, client)
        self._check(chaos, conveyors)

    def _start_client(self, pool, stage):
        command = [sys.executable, HERE / "recording_client.py", "--stage", stage, "--history",
                   self.folder / "history.jsonl", "--seed", str(self.arguments.seed), "--patience", str(PATIENCE)]
        for name in REPLAYS:
            command += ["--server", f"{name}={pool.proxies.proxies[name].address}"]
        if self.arguments.lie:
            command += ["--lie", self.arguments.lie]
        with open(self.folder / "logs" / "client.log", "wb") as log:
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def _await_client(self):
        """Waits until each server has acknowledged something: a fault before that would show nothing."""
        end = time.monotonic() + PATIENCE
        while True:
            acknowledged = {event["server"] for event in history.read(self.folder / "history.jsonl")
                            if event["op"] == "insert" and event["type"] == "ok"}
            if acknowledged == set(REPLAYS):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"the recording client has no answer within {PATIENCE:g} s: client.log")
            time.sleep(0.2)

    def _live_on(self, chaos, conveyors, tend):
        """Nothing is disturbed any more: every experiment must reach its goal, and so must a new one."""
        for conveyor in conveyors:  # One that is submitted now, if there is none.
            if conveyor.idle:
                tend()
        end = time.monotonic() + self.arguments.patience
        since = chaos.now()
        while not all(conveyor.idle and conveyor.submitted for conveyor in conveyors):
            if time.monotonic() > end:
                for conveyor in conveyors:
                    if not conveyor.idle:
                        chaos.violation(f"an experiment does not go on to its goal within {self.arguments.patience:g} s: "
                                        f"{conveyor.present_state()}")
                break
            time.sleep(0.2)
            tend(more=any(not conveyor.submitted for conveyor in conveyors))
        chaos.say(f"     {chaos.now() - since:.0f} s after the last fault")

    def _end_client(self, chaos, client):
        client.stdin.close()
        try:
            status = client.wait(PATIENCE * 2)
        except subprocess.TimeoutExpired:
            client.kill()
            status = "none"
        if status != 0:
            chaos.violation(f"the recording client ends with status {status}: client.log")

    def _check(self, chaos, conveyors):
        pool = chaos.pool
        contents = {}
        for server in REPLAYS:
            chaos.await_service(server)
            for table in recorded_tables.RULES:
                contents[server, table] = table_contents.read(chaos.messages, pool.address[server], table, PATIENCE)
        events = history.read(self.folder / "history.jsonl")
        self.acknowledged = acknowledged_items(events)
        problems = item_problems(events, contents, recorded_tables.RULES)
        for conveyor in conveyors:
            problems += conveyor.check(pool.hub_deaths, chaos.unsaved)
            self.outcomes += conveyor.outcomes
            self.cuts += conveyor.cuts()
        for problem in problems:
            chaos.violation(problem)


def command_of(arguments):
    words = [sys.argv[0], f"--seed {arguments.seed}", f"--seconds {arguments.seconds:g}", f"--bin {arguments.bin}"]
    words += [f"--faults {arguments.faults}"] if arguments.faults else []
    words += [f"--lie {arguments.lie}"] if arguments.lie else []
    return " ".join(words)


def main():
    arguments = arguments_of(sys.argv[1:])
    if arguments.list:
        print("\n".join(fault_table.listing()))
        for name, text in fault_table.INVARIANTS.items():
            print(f"{name}: {text}")
        return 0
    volume.enter_private_mounts(__file__)
    if arguments.keep is not None:
        folder = arguments.keep.resolve()
        folder.mkdir(parents=True)
    else:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="waggle-chaos-"))
    run = Run(arguments, folder)
    violations = run.run()
    counts = {state: run.outcomes.count(state) for state in sorted(set(run.outcomes))}
    outcomes = ", ".join(state if count == 1 else f"{count} {state}" for state, count in counts.items())
    print(f"seed {arguments.seed}: {run.faults_made} faults in {run.fault_seconds:.0f} s, "
          f"{run.acknowledged} items acknowledged, {run.cuts} cuts, {len(violations)} violations, {outcomes or 'no experiment ended'}")
    if violations:
        print(f"kept: {folder}\nrepeat: {command_of(arguments)}")
    elif arguments.keep is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
