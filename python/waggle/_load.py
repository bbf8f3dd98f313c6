"""Finds the file of a policy, or calls the program waggle to write it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

_FILE = "policy.onnx"


def load(path):
    """Returns the policy of a file of `waggle export`, or of a run's folder.

    In a folder, policy.onnx is used. If it is missing or older than the run's weights, the program `waggle`, which must
    be on the PATH, writes it. If the folder cannot be written to, the program writes a temporary file.

    Raises FileNotFoundError if the path does not exist, or if the program is needed and missing; RuntimeError with the
    program's message if the program fails; ValueError if the file was not written by `waggle export`.
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
    # The interpreter's folder is searched too, because its virtual environment may not be active.
    folders = os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)])
    program = shutil.which("waggle", path=folders)
    if program is None:
        raise FileNotFoundError(
            f"{path}: has no {_FILE} of its newest weights, and the program waggle, which writes it, is not on the PATH"
        )
    done = subprocess.run([program, "export", str(path), str(file)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"waggle export {path}: exit status {done.returncode}")
