"""Reads the folders of runs, for plot_runs.py and compare_runs.py in the same folder."""

import csv
import json
import math
import os
import pathlib
import statistics
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
NO_PACKAGE = 3  # The exit status if a package is missing.
HEADER = ["step", "seconds", "name", "value"]
# Figures come once a second. A pause is a gap if it is GAP_FACTOR times the usual one, and at least GAP_SECONDS.
GAP_FACTOR = 5
GAP_SECONDS = 5

EVALUATION = "evaluation/mean_return"
TRAINING = "actor/return_mean"


class RunError(Exception):
    """A problem with a file or folder. The message is for users."""


class Series:
    """One figure of one run over time. Gaps are pauses in `seconds`, or values that are not finite.

    `seconds` never go back; `steps` may, as several evaluators do not finish in the order in which they began.
    """

    def __init__(self):
        self.steps, self.seconds, self.values = [], [], []

    def add(self, step, seconds, value):
        self.steps.append(step)
        self.seconds.append(seconds)
        self.values.append(value)

    def curve(self, over, gaps):
        """(xs, ys) over "steps" or "seconds"; with gaps, a pause contains a point that is NaN."""
        xs = list(getattr(self, over))
        ys = list(self.values)
        pauses = [b - a for a, b in zip(self.seconds, self.seconds[1:])]
        if gaps and pauses:
            longest = max(GAP_SECONDS, GAP_FACTOR * statistics.median(pauses))
            for i in reversed([i for i, pause in enumerate(pauses) if pause > longest]):
                xs.insert(i + 1, (xs[i] + xs[i + 1]) / 2)
                ys.insert(i + 1, math.nan)
        points = sorted(zip(xs, ys), key=lambda point: point[0])
        return [x for x, _ in points], [y for _, y in points]


class Run:
    """The contents of a run's folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.name = self.folder.resolve().name
        self.series = read_metrics(self.folder / "metrics.csv")
        yaml = read_text(self.folder / "experiment.yaml")
        self.facts = facts_of(yaml)
        # Runs of one experiment have the same identity.
        self.identity = without_seed(yaml) if yaml else str(self.folder.resolve())
        self.summary = read_json(self.folder / "summary.json")
        # The run's values of the keys of its sweep; empty if it belongs to no sweep.
        self.settings = settings_of(read_json(self.folder / "fetched.json"))
        self.values = values_of(yaml)

    @property
    def takes_steps(self):
        """False for a run without actors, which learns from recorded episodes alone."""
        return any(step > 0 for series in self.series.values() for step in series.steps)

    def count_learner_steps(self):
        """Evaluations are over the learner steps of their weights from now on."""
        versions = self.series.get("evaluation/version")
        if versions is not None and EVALUATION in self.series:
            self.series[EVALUATION].steps = [int(version) for version in versions.values]

    @property
    def experiment(self):
        return self.facts.get("experiment.name", self.name)

    @property
    def target(self):
        try:
            return float(self.facts.get("stop.target_return", ""))
        except ValueError:
            return None


def read_text(path):
    """A file's text; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def read_json(path):
    """The object in a file; {} if the file has another format or does not exist, such as the summary of a running run."""
    try:
        read = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def settings_of(fetched):
    """The settings that `waggle fetch` has written, as texts by their keys."""
    settings = fetched.get("settings")
    return {str(key): str(value) for key, value in settings.items()} if isinstance(settings, dict) else {}


def read_metrics(path):
    """The figures of a metrics.csv by name. While a run goes on its last row may be incomplete."""
    series = {}
    try:
        file = open(path, newline="", encoding="utf-8", errors="replace")
    except OSError as error:
        raise RunError(f"{path.parent} is no run's folder: {path.name}: {error.strerror}") from error
    with file:
        rows = csv.reader(line for line in file if line.endswith("\n"))
        if next(rows, None) != HEADER:
            raise RunError(f"{path} is not a metrics file: it does not start with {','.join(HEADER)}")
        for row in rows:
            try:
                step, seconds, name, value = row
                step, seconds = int(step), float(seconds)
                value = float(value) if value else math.nan
            except ValueError as error:
                raise RunError(f"{path}:{rows.line_num}: wanted {','.join(HEADER)}") from error
            series.setdefault(name, Series()).add(step, seconds, value)
    if not series:
        raise RunError(f"{path} has no figures yet")
    return series


def environment_of(run):
    """The environment's name; "?" for one that is not built in, of a run without a summary."""
    return (run.summary or {}).get("environment") or run.facts.get("environment.name", "?")


def facts_of(yaml):
    """The values of a complete experiment.yaml at the second level: {"experiment.name": "cartpole", …}."""
    facts = {}
    section = ""
    for line in yaml.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            continue
        if not line.startswith(" "):
            section = key
        elif line.startswith("  ") and not line.startswith(("   ", "  -")):
            facts[f"{section}.{key.strip()}"] = value.strip().strip("\"'")
    return facts


def values_of(yaml):
    """All values of a complete experiment.yaml as texts: {"algorithm.optimizer.learning_rate": "0.001", …}.

    A list is one value: its lines.
    """
    values = {}
    path = []  # The sections around the line, each with its indentation.
    for line in yaml.splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text or text.startswith("#"):
            continue
        # The items of a list may stand as deep as its key.
        while path and (path[-1][0] > indent or (path[-1][0] == indent and not text.startswith("- "))):
            path.pop()
        key, colon, value = text.partition(":")
        in_list = path and ".".join(name for _, name in path) in values
        if in_list or text.startswith("- ") or not colon or (value and not value.startswith(" ")):
            name = ".".join(name for _, name in path)
            values[name] = (values.get(name, "") + " " + text).strip()
            continue
        path.append((indent, key))
        if value.strip():
            values[".".join(name for _, name in path)] = value.strip().strip("\"'")
            path.pop()
    return values


def without_seed(yaml):
    """The experiment without its seed, the one value in which its runs may differ."""
    lines = []
    section = ""
    for line in yaml.splitlines():
        section = section if line.startswith(" ") else line
        if not (section.startswith("experiment:") and line.startswith("  seed:")):
            lines.append(line)
    return "\n".join(lines)


def group_runs(runs):
    """Lists of runs of one experiment, in the order in which they were given; a run that is given twice counts once."""
    groups = {}
    for run in {run.folder.resolve(): run for run in runs}.values():
        groups.setdefault(run.identity, []).append(run)
    return list(groups.values())


def differing_keys(groups):
    """The keys by which groups of runs differ, without their names: those of a sweep, or those of their experiments."""
    firsts = [group[0] for group in groups]
    chosen = [run.settings or run.values for run in firsts]
    keys = list(dict.fromkeys(key for values in chosen for key in values))
    return [key for key in keys if key not in ("experiment.name", "experiment.seed")
            and len({values.get(key) for values in chosen}) > 1]


def short_names(keys):
    """The shortest ends of the keys that tell them apart: {"algorithm.optimizer.learning_rate": "learning_rate"}."""
    names = {}
    for key in keys:
        parts = key.split(".")
        ends = [".".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        names[key] = next((end for end in ends if sum(("." + other).endswith("." + end) for other in keys) == 1), key)
    return names


MOST_SHOWN_KEYS = 4


def labels_of(groups):
    """A label for each group: the experiment's name if they differ in it, and the values by which the groups differ."""
    keys = differing_keys(groups)
    names = short_names(keys)
    same_name = len({group[0].experiment for group in groups}) == 1
    labels = []
    for group in groups:
        run = group[0]
        values = run.settings or run.values
        shown = [f"{names[key]}={values.get(key, 'unset')}" for key in keys[:MOST_SHOWN_KEYS]]
        shown += ["…"] if len(keys) > MOST_SHOWN_KEYS else []
        shown = [] if len(groups) == 1 else shown
        labels.append(" ".join(([] if same_name and shown else [run.experiment]) + ([", ".join(shown)] if shown else [])))
    # Groups that could not be told apart get the name of a run.
    return [label if labels.count(label) == 1 else f"{label} ({group[0].name}{', …' if len(group) > 1 else ''})"
            for label, group in zip(labels, groups)]


def find_package(package, verb, advice):
    """Returns if the package is there; otherwise restarts with the system's Python, or exits."""
    try:
        __import__(package)
    except ImportError:
        script = os.path.abspath(sys.argv[0])
        if sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, script] + sys.argv[1:])
        print(f"waggle {verb}: {package} is missing: {advice}", file=sys.stderr)
        sys.exit(NO_PACKAGE)
