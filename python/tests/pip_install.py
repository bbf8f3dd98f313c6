#!/usr/bin/env python3
"""Installs the Python client by pip, as its users do, into a new environment, and tests it there.

usage: pip_install.py --server build/release/bin/waggle-replay-server

Nothing is downloaded: this Python must have the package's dependencies. If one is missing, prints it and exits with 77,
which ctest takes for "skipped". [e2e]
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent
SKIPPED = 77
NEEDED = ("ensurepip", "setuptools", "grpc", "google.protobuf", "numpy")


def run(*command, cwd):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def missing():
    """The packages and programs that this Python lacks."""
    for module in NEEDED:
        code, output = run(sys.executable, "-c", f"import {module}", cwd="/")
        if code != 0:
            yield f"{module} ({output.strip().splitlines()[-1]})"
    code, _ = run(sys.executable, "-c", "import grpc_tools", cwd="/")
    if code != 0 and shutil.which("protoc") is None:
        yield "grpcio-tools or protoc"


def must(*command, cwd):
    code, output = run(*command, cwd=cwd)
    if code != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{output}")
    return output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    lacks = list(missing())
    if lacks:
        print(
            f"SKIPPED: installing the Python client by pip is NOT TESTED: {sys.executable} lacks {', '.join(lacks)}",
            file=sys.stderr,
        )
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # From a copy of the needed parts of the checkout, because building leaves files beside the sources.
        source = folder / "checkout/python"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("*.binpb", "__pycache__", "build", "*.egg-info"))
        shutil.copytree(PACKAGE.parent / "proto", folder / "checkout/proto")
        must(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv", cwd=folder)
        python = folder / "venv/bin/python"
        must(
            python, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps",
            "--no-build-isolation", source, cwd=folder,
        )  # fmt: skip
        shutil.rmtree(folder / "checkout")
        where = must(python, "-c", "import waggle_client; print(waggle_client.__file__)", cwd=folder).strip()
        if not pathlib.Path(where).is_relative_to(folder / "venv"):
            sys.exit(f"what is imported is {where}, not what was installed")
        code, output = run(
            python, HERE / "run.py", "--installed", "--server", arguments.server.resolve(), "test_tables",
            "test_sampling", cwd=folder,
        )  # fmt: skip
        print(output)
        if code == SKIPPED:
            sys.exit("the environment lacks what this Python has")
        return code


if __name__ == "__main__":
    sys.exit(main())
