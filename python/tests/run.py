#!/usr/bin/env python3
"""Runs the tests of the Python client against a replay server.

usage: run.py --server build/release/bin/waggle-replay-server --stage FOLDER [unittest's arguments]

The package is put together in FOLDER like an installation. Exits with 77, which ctest takes for "skipped", if this Python
lacks a dependency of the package. [e2e]
"""

import argparse
import importlib
import os
import pathlib
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def missing_modules():
    for name in ("grpc", "google.protobuf", "numpy"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            yield f"{name} ({error})"


def stage(folder):
    """Lays the sources and the compiled descriptors out as an installation does."""
    package = folder / "waggle_client"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE.parent / "waggle_client", package, ignore=shutil.ignore_patterns("*.binpb", "__pycache__"))
    sys.path.insert(0, str(HERE.parent))
    import proto_build

    proto_build.compile_to(package / proto_build.NAME)
    sys.path.remove(str(HERE.parent))
    sys.path.insert(0, str(folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", type=pathlib.Path, required=True)
    parser.add_argument("--stage", type=pathlib.Path)
    parser.add_argument("--installed", action="store_true", help="test the package that this Python has installed")
    arguments, rest = parser.parse_known_args()
    missing = list(missing_modules())
    if missing:
        print(
            f"SKIPPED: the Python client is NOT TESTED: {sys.executable} lacks {', '.join(missing)}. On Debian: "
            "apt-get install python3-grpcio python3-numpy python3-protobuf",
            file=sys.stderr,
        )
        return SKIPPED
    if not arguments.installed:
        stage(arguments.stage)
    import google.protobuf
    import grpc
    import numpy

    print(
        f"Python {sys.version.split()[0]}, grpcio {grpc.__version__}, protobuf {google.protobuf.__version__}, "
        f"NumPy {numpy.__version__}",
        file=sys.stderr,
    )
    os.environ["WAGGLE_REPLAY_SERVER"] = str(arguments.server.resolve())
    sys.path.insert(0, str(HERE))
    if any(not argument.startswith("-") for argument in rest):
        program = unittest.main(module=None, argv=["run.py", *rest], exit=False)
    else:
        program = unittest.main(module=None, argv=["run.py", "discover", "-s", str(HERE), *rest], exit=False)
    result = program.result
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    # A last line for scripts that count tests.
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 0 if result.testsRun > 0 and result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
