"""Starts Waggle's learner and actor with the LibTorch of the Python package torch.

Their executable links LibTorch, whose C++ interface changes with each minor version. TORCH is the minor version for which the
executable was built. The package torch is not imported.
"""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys

from waggle_worker._torch import TORCH

EXECUTABLE = pathlib.Path(__file__).resolve().parent / "bin" / "waggle-worker"


def torch_libraries():
    """The folder of LibTorch. Raises ImportError, which names the package to install, if this version is not installed."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"there is no package torch: pip install 'torch=={TORCH}.*'")
    version = importlib.metadata.version("torch")
    if version.split(".")[:2] != TORCH.split("."):
        raise ImportError(f"torch: got version {version}; wanted {TORCH}: pip install 'torch=={TORCH}.*'")
    return pathlib.Path(spec.submodule_search_locations[0]).resolve() / "lib"


def environment(libraries):
    """The environment variables by which the executable finds LibTorch."""
    variables = dict(os.environ)
    # The executable looks for torch beside waggle_worker. torch may be elsewhere, for example in an outer environment.
    if libraries != EXECUTABLE.parent.parent.parent / "torch" / "lib":
        others = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = f"{libraries}:{others}" if others else str(libraries)
    return variables


def start(program):
    """Replaces this process by the program, with the same arguments."""
    try:
        variables = environment(torch_libraries())
    except ImportError as error:
        sys.exit(f"{program}: {error}")
    os.execve(EXECUTABLE, [program, *sys.argv[1:]], variables)


def learner():
    start("waggle-learner")


def actor():
    start("waggle-actor")
