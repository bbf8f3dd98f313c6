"""Starts Waggle's learner and actor with the LibTorch of the Python package torch.

Their executable links that library, whose C++ interface changes with each minor version: TORCH is the one it was built
for. torch itself is not imported.
"""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys

from waggle_worker._torch import TORCH

EXECUTABLE = pathlib.Path(__file__).resolve().parent / "bin" / "waggle-worker"


def torch_libraries():
    """The folder of LibTorch. Raises ImportError, saying what to install, if the right one is not installed."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"there is no package torch: pip install 'torch=={TORCH}.*'")
    version = importlib.metadata.version("torch")
    if version.split(".")[:2] != TORCH.split("."):
        raise ImportError(f"torch: got version {version}; wanted {TORCH}: pip install 'torch=={TORCH}.*'")
    return pathlib.Path(spec.submodule_search_locations[0]).resolve() / "lib"


def environment(libraries):
    """The environment variables with which the executable finds LibTorch."""
    variables = dict(os.environ)
    # The executable looks for torch beside waggle_worker. They may be apart, as if one is in an outer environment.
    if libraries != EXECUTABLE.parent.parent.parent / "torch" / "lib":
        others = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = f"{libraries}:{others}" if others else str(libraries)
    return variables


def start(program):
    """Becomes this program, with the arguments of this process."""
    try:
        variables = environment(torch_libraries())
    except ImportError as error:
        sys.exit(f"{program}: {error}")
    os.execve(EXECUTABLE, [program, *sys.argv[1:]], variables)


def learner():
    start("waggle-learner")


def actor():
    start("waggle-actor")
