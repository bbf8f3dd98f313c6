"""Shared by the comparisons with other programs: virtual environments, Waggle's benchmarks, the report."""

import json
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = ROOT / "build" / "release" / "bin"


def enter_environment(name, requirements):
    """Runs this script again by a Python that has `requirements`, in build/peers/NAME; returns there."""
    folder = ROOT / "build" / "peers" / name
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix) == folder:
        return
    if not (folder / "complete").exists():
        print(f"installing {' '.join(requirements)} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        (folder / "complete").touch()
    sys.exit(subprocess.run([python, *sys.argv]).returncode)


def waggle(program, case):
    """The value of one case of a Waggle benchmark: the middle one of its rounds."""
    lines = subprocess.run([BIN / program, f"--filter={case}"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in lines.splitlines():
        result = json.loads(line)
        if result["case"] == case:
            return result["median"]
    raise SystemExit(f"{program} has no case {case}: is it built?")


def run_experiment(name, seed, output, settings):
    """Runs configs/NAME.yaml with these `--set` arguments and one thread a process, into the folder `output`."""
    command = [BIN / "waggle", "run", ROOT / "configs" / f"{name}.yaml", "--seed", str(seed), "--no-plot", "--output-dir", output]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if not (output / "summary.json").exists():
        sys.exit(f"{name}: {done.stdout[-2000:]}")


def report(case, unit, ours, peer, theirs, less_is_better=False):
    """One JSON line; the ratio is above 1 if Waggle is ahead."""
    ratio = theirs / ours if less_is_better else ours / theirs
    print(json.dumps({"case": case, "unit": unit, "waggle": float(f"{ours:.6g}"), peer: float(f"{theirs:.6g}"),
                      "ratio": round(ratio, 2)}), flush=True)
