#!/usr/bin/env python3
"""A short chaos run: a few faults of processes and of the network, and one promise that is broken on purpose. [e2e]

usage: chaos_smoke_test.py BIN_FOLDER

Exits with 77, which ctest takes for "skipped", if this Python lacks a module, or the machine lacks protoc.
"""

import importlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
BIN = None


def missing():
    for name in ("grpc", "google.protobuf", "numpy"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            yield f"Python's {name} ({error})"
    if shutil.which("protoc") is None:
        yield "protoc"


def chaos(*words):
    """The exit status and the output of a run."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, HERE / "waggle_chaos.py", "--bin", BIN, "--keep", f"{folder}/run",
                               "--patience", "600", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class SmokeTest(unittest.TestCase):
    def test_a_pool_keeps_its_promises_through_a_few_faults(self):
        status, said = chaos("--seed", "1", "--seconds", "20", "--faults",
                             "kill-replay,kill-learner,kill-hub,half-open,reset,not-a-number,terminate")
        print(said)
        self.assertEqual(status, 0, said)
        self.assertIn(" 0 violations", said)

    def test_tables_that_lose_what_they_acknowledged_are_found_out(self):
        status, said = chaos("--seed", "1", "--seconds", "12", "--faults", "kill-replay", "--lie", "durability")
        self.assertEqual(status, 1, said)
        self.assertIn("acknowledged items are lost", said)
        self.assertIn("repeat: ", said)

    def test_every_fault_of_the_catalogue_is_listed(self):
        status, said = chaos("--list")
        self.assertEqual(status, 0, said)
        numbers = {line.split()[0] for line in said.splitlines() if line.startswith("F")}
        self.assertEqual(numbers, {f"F{number}" for number in range(1, 42)})


if __name__ == "__main__":
    lacking = list(missing())
    if lacking:
        print(f"SKIPPED: chaos is NOT TESTED: there is no {', '.join(lacking)}", file=sys.stderr)
        sys.exit(SKIPPED)
    BIN = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
