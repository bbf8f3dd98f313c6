"""Finds the file of a policy, or has the waggle program write it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

_FILE = "policy.onnx"


def load(path):
    """The policy of a file of `waggle export`, or of a run's folder.

    In a folder that is policy.onnx, unless the run's weights are newer or there is no such file. Then the program
    `waggle`, which must be on the PATH, writes it; into a temporary file if the folder cannot be written to.

    Raises FileNotFoundError if there is no such path, or no file and no program to write it; RuntimeError with the
    program's message if it fails; ValueError if the file is no policy of Waggle's.
    """
    from waggle._policy import Policy

    path = pathlib.Path(path)
    if path.is_file():
        return Policy(path)
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: is not there; wanted a run's folder, or a file of `waggle export`")
    file = path / _FILE
    if file.is_file() and file.stat().st_mtime >= _newest_weights(path):
        return Policy(file)
    if os.access(path, os.W_OK):
        _export(path, file)
        return Policy(file)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / _FILE
        _export(path, file)
        return Policy(file)


def _newest_weights(path):
    return max((file.stat().st_mtime for file in path.rglob("checkpoint.safetensors")), default=0)


def _export(path, file):
    # Beside the interpreter too: a virtual environment need not be active.
    folders = os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)])
    program = shutil.which("waggle", path=folders)
    if program is None:
        raise FileNotFoundError(
            f"{path}: has no {_FILE} of its newest weights, and the program waggle, which writes it, is not on the PATH"
        )
    done = subprocess.run([program, "export", str(path), str(file)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"waggle export {path}: exit status {done.returncode}")
