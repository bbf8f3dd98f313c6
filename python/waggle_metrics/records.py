"""Reads figures: from the lines of `waggle watch ID --json`, or from a run's folder."""

import csv
import dataclasses
import json
import math
import pathlib

FACTS = ("id", "experiment", "algorithm", "environment", "seed")
HEADER = ["step", "seconds", "name", "value"]
EVALUATION = ("mean_return", "min_return", "max_return", "standard_deviation", "mean_length", "episodes", "version")


class InputError(Exception):
    """A problem with the input. The message is for users."""


@dataclasses.dataclass
class Facts:
    """The identity and the outcome of an experiment."""

    values: dict  # Values of those FACTS that are known.
    outcome: str = ""  # "running", "solved", …; empty if unknown.
    result: dict = dataclasses.field(default_factory=dict)  # Figures of the result by name.
    files: list = dataclasses.field(default_factory=list)  # Paths of files to store with the run.

    @property
    def name(self):
        return str(self.values.get("id") or self.values.get("experiment") or "waggle")


@dataclasses.dataclass
class Rows:
    """The figures of one moment."""

    step: int  # Environment steps.
    seconds: float  # The time of the run.
    figures: dict  # Finite numbers by name.


def finite(figures):
    return {name: float(value) for name, value in figures.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)}


def facts_of(status):
    result = status.get("result") if isinstance(status.get("result"), dict) else {}
    return Facts({key: status[key] for key in FACTS if status.get(key) not in (None, "")},
                 str(status.get("outcome") or ""), finite(result))


def number(value):
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def read_stream(lines):
    """Yields (Facts, [Rows…]) for each line of `waggle watch ID --json`. A line may have a new evaluation."""
    last_version = None
    for count, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            status = json.loads(line)
        except ValueError as error:
            raise InputError(f"line {count}: wanted JSON, as waggle watch ID --json prints it: {error}") from error
        if not isinstance(status, dict) or "env_steps" not in status:
            raise InputError(f"line {count}: got another object; wanted one of waggle watch ID --json")
        step, seconds = int(number(status["env_steps"])), number(status.get("wall_seconds"))
        rows = []
        evaluation = status.get("evaluation")
        if isinstance(evaluation, dict):
            version = (evaluation.get("epoch"), evaluation.get("version"), evaluation.get("finished_at_unix_seconds"))
            if version != last_version:
                last_version = version
                figures = finite({f"evaluation/{key}": evaluation.get(key) for key in EVALUATION})
                rows.append(Rows(int(number(evaluation.get("env_steps"))), seconds, figures))
        figures = finite(status.get("figures") or {})
        figures["learner_steps"] = number(status.get("learner_steps"))
        rows.append(Rows(step, seconds, figures))
        yield facts_of(status), rows


def read_folder(folder):
    """(Facts, [Rows…]) of a run's folder, or of a folder of `waggle fetch`."""
    folder = pathlib.Path(folder)
    path = folder / "metrics.csv"
    rows = {}
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(line for line in file if line.endswith("\n"))
            if next(lines, None) != HEADER:
                raise InputError(f"{path} is not a metrics file: it does not start with {','.join(HEADER)}")
            for step, seconds, name, value in lines:
                moment = (int(step), float(seconds))
                rows.setdefault(moment, {})[name] = float(value) if value else math.nan
    except OSError as error:
        raise InputError(f"{folder} is no run's folder: {path.name}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: wanted {','.join(HEADER)}: {error}") from error
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        summary = {"id": folder.resolve().name, "outcome": "running"}
    except ValueError as error:
        raise InputError(f"{folder / 'summary.json'}: wanted JSON: {error}") from error
    facts = facts_of(summary)
    facts.files = [folder / name for name in ("experiment.yaml", "summary.json", "curves.png")
                   if (folder / name).is_file()]
    return facts, [Rows(step, seconds, finite(figures)) for (step, seconds), figures in rows.items()]
