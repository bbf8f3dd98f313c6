#!/usr/bin/env python3
"""Draws the curves of runs as a PNG, for `waggle plot` and for the end of `waggle run`.

usage: plot_runs.py [--out FILE] RUN...

Reads each RUN's metrics.csv and, if they exist, its experiment.yaml and summary.json. Runs of one experiment that differ
only in their seed become one curve. Exits with 0, 2 if a folder or file is wrong, 3 if there is no matplotlib.
"""

import argparse
import bisect
import csv
import json
import math
import os
import pathlib
import statistics
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
NO_MATPLOTLIB = 3
HEADER = ["step", "seconds", "name", "value"]
# Figures come once a second. A pause is a gap if it is GAP_FACTOR times the usual one, and at least GAP_SECONDS.
GAP_FACTOR = 5
GAP_SECONDS = 5
GRID_POINTS = 300

EVALUATION = "evaluation/mean_return"
TRAINING = "actor/return_mean"
TRAINING_LOOK = {"linestyle": "--", "linewidth": 1, "alpha": 0.6}
EVALUATION_LOOK = {"linewidth": 1.8, "marker": "."}
TARGET_LOOK = {"color": "black", "linestyle": ":", "linewidth": 1}
# The panels below the returns: a title, and for each curve its figure, its line style and its label.
PANELS = [
    ("environment steps a second", [("actor/env_steps_per_s", "-", None)]),
    ("learner steps a second", [("learner/steps_per_s", "-", None)]),
    (
        "items a second",
        [("replay/items_sampled_per_s", "-", "sampled"), ("replay/items_inserted_per_s", "--", "inserted")],
    ),
    ("policy lag in learner steps, mean", [("learner/policy_lag_mean", "-", None)]),
]


class PlotError(Exception):
    """A problem with a file or folder, for people."""


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
        self.summary = read_summary(self.folder / "summary.json")

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


def read_summary(path):
    """{} while the run goes on, or if the file has another format."""
    try:
        summary = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return summary if isinstance(summary, dict) else {}


def read_metrics(path):
    """The figures of a metrics.csv by name. While a run goes on its last row may be incomplete."""
    series = {}
    try:
        file = open(path, newline="", encoding="utf-8", errors="replace")
    except OSError as error:
        raise PlotError(f"{path.parent} is no run's folder: {path.name}: {error.strerror}") from error
    with file:
        rows = csv.reader(line for line in file if line.endswith("\n"))
        if next(rows, None) != HEADER:
            raise PlotError(f"{path} is not a metrics file: it does not start with {','.join(HEADER)}")
        for row in rows:
            try:
                step, seconds, name, value = row
                step, seconds = int(step), float(seconds)
                value = float(value) if value else math.nan
            except ValueError as error:
                raise PlotError(f"{path}:{rows.line_num}: wanted {','.join(HEADER)}") from error
            series.setdefault(name, Series()).add(step, seconds, value)
    if not series:
        raise PlotError(f"{path} has no figures yet")
    return series


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


def label_of(group, groups):
    """The legend's name of a group: the experiment, and more if that is not unique."""
    name = group[0].experiment
    alike = sum(other[0].experiment == name for other in groups) > 1
    if alike:
        name = f"{name} ({group[0].name}{', …' if len(group) > 1 else ''})"
    if len(group) > 1:
        name = f"{name}, {len(group)} seeds: mean ± standard deviation; dotted once a run has ended"
    return name


def interpolate(xs, ys, x):
    """The curve's value at x; NaN outside it and in a gap. xs must not fall."""
    right = bisect.bisect_left(xs, x)
    if right < len(xs) and xs[right] == x:
        return ys[right]
    if right in (0, len(xs)):
        return math.nan
    left = right - 1
    share = (x - xs[left]) / (xs[right] - xs[left])
    return ys[left] + share * (ys[right] - ys[left])


def last_value(ys):
    """The last value that is not NaN; NaN if there is none."""
    return next((y for y in reversed(ys) if math.isfinite(y)), math.nan)


def mean_and_spread(curves, holds, points=GRID_POINTS):
    """(xs, means, standard deviations, the x at which the first curve ends) from the x at which all curves have begun.

    Past its end a curve counts with its last value if `holds`. Otherwise the mean is over the curves that are left.
    Empty lists and NaN if the curves do not overlap.
    """
    curves = [(sorted(xs), [y for _, y in sorted(zip(xs, ys), key=lambda point: point[0])]) for xs, ys in curves]
    if not curves or not all(xs for xs, _ in curves):
        return [], [], [], math.nan
    first = max(xs[0] for xs, _ in curves)
    first_end, last = (pick(xs[-1] for xs, _ in curves) for pick in (min, max))
    if first >= first_end:
        return [], [], [], math.nan
    grid = sorted({first + (last - first) * i / (points - 1) for i in range(points - 1)} | {first_end, last})
    means, spreads = [], []
    for x in grid:
        values = [interpolate(xs, ys, x) for xs, ys in curves if x <= xs[-1]]
        values += [last_value(ys) for xs, ys in curves if x > xs[-1] and holds]
        whole = all(math.isfinite(value) for value in values)
        means.append(statistics.fmean(values) if whole else math.nan)
        spreads.append(statistics.stdev(values) if whole and len(values) > 1 else math.nan)
    return grid, means, spreads, first_end


def title_of(runs):
    """The title of the whole picture."""
    experiments = sorted({run.experiment for run in runs})
    facts = runs[0].facts
    title = ", ".join(experiments[:3]) + (", …" if len(experiments) > 3 else "")
    if len({(run.facts.get("algorithm.name"), run.facts.get("environment.name")) for run in runs}) == 1 and facts:
        title += f": {facts.get('algorithm.name')} on {facts.get('environment.name')}"
    if len(runs) > 1:
        return title
    summary = runs[0].summary
    if "experiment.seed" in facts:
        title += f", seed {facts['experiment.seed']}"
    if "outcome" in summary:
        title += f"\n{summary['outcome']}"
        if isinstance(summary.get("env_steps"), (int, float)) and isinstance(summary.get("wall_seconds"), (int, float)):
            title += f" after {summary['env_steps']:,.0f} environment steps and {summary['wall_seconds']:.3g} s"
    return title


class Picture:
    """Draws groups of runs with matplotlib, a colour each."""

    def __init__(self, runs, returns_only=False):
        from matplotlib import colormaps  # pylint: disable=import-outside-toplevel
        from matplotlib.figure import Figure  # pylint: disable=import-outside-toplevel

        self.groups = group_runs(runs)
        self.runs = [run for group in self.groups for run in group]
        colors = colormaps["tab10" if len(self.groups) <= 10 else "tab20"].colors
        self.colors = [colors[i % len(colors)] for i in range(len(self.groups))]
        columns = 1 if len(self.groups) <= 4 else 2
        legend_height = 0.3 + 0.22 * math.ceil((len(self.groups) + 4) / columns)
        rows = 1 if returns_only else 1 + len(PANELS) // 2
        self.figure = Figure(figsize=(12, 0.6 + legend_height + 3.2 * rows), layout="constrained")
        grid = self.figure.add_gridspec(rows + 1, 2, height_ratios=[legend_height] + [3.2] * rows)
        self.figure.suptitle(title_of(self.runs), fontsize=12)
        self.legend = self.figure.add_subplot(grid[0, :])
        self.legend.axis("off")
        self.panels = [self.figure.add_subplot(grid[1 + i // 2, i % 2]) for i in range(2 * rows)]
        if any(run.takes_steps for run in self.runs):
            self.draw_returns(self.panels[0], "steps", "environment steps")
        else:
            for run in self.runs:
                run.count_learner_steps()
            self.draw_returns(self.panels[0], "steps", "learner steps")
        self.draw_returns(self.panels[1], "seconds", "seconds")
        for panel, (title, curves) in zip(self.panels[2:], PANELS):
            panel.sharex(self.panels[1])
            self.draw_figures(panel, title, curves)
        self.draw_legend(columns)

    def draw_returns(self, panel, over, x_label):
        self.start(panel, "return", x_label)
        for group, color in zip(self.groups, self.colors):
            self.draw_group(panel, group, TRAINING, over, color, TRAINING_LOOK, True)
            self.draw_group(panel, group, EVALUATION, over, color, EVALUATION_LOOK, False)
        for target in sorted({run.target for run in self.runs if run.target is not None}):
            panel.axhline(target, **TARGET_LOOK)
        self.finish(panel, over == "steps")

    def draw_figures(self, panel, title, curves):
        self.start(panel, title, "seconds")
        for name, style, _ in curves:
            for group, color in zip(self.groups, self.colors):
                self.draw_group(panel, group, name, "seconds", color, {"linestyle": style, "linewidth": 1.5}, True)
        for name, style, label in curves:
            if label is not None:
                panel.plot([], [], color="gray", linestyle=style, label=label)
        if any(label is not None for _, _, label in curves):
            panel.legend(fontsize=8, loc="best")
        self.finish(panel, True)
        panel.set_ylim(bottom=0)

    def draw_group(self, panel, group, name, over, color, look, gaps):
        """One run as it is; several as their mean in a band, with each of them pale behind.

        A run that has ended keeps its return: what it has learned stays. It has no rates and lags any more.
        """
        curves = [run.series[name].curve(over, gaps) for run in group if name in run.series]
        if len(group) == 1:
            for xs, ys in curves:
                panel.plot(xs, ys, color=color, **look)
            return
        for xs, ys in curves:
            panel.plot(xs, ys, color=color, linewidth=0.6, alpha=0.35, linestyle=look.get("linestyle", "-"))
        if len(curves) < len(group):
            return
        xs, means, spreads, first_end = mean_and_spread(curves, holds=name in (TRAINING, EVALUATION))
        look = {key: value for key, value in look.items() if key != "marker"}
        split = bisect.bisect_right(xs, first_end)
        panel.plot(xs[:split], means[:split], color=color, **look)
        panel.plot(xs[max(0, split - 1):], means[max(0, split - 1):], color=color, **{**look, "linestyle": ":"})
        if name != TRAINING:
            low = [mean - spread for mean, spread in zip(means, spreads)]
            high = [mean + spread for mean, spread in zip(means, spreads)]
            panel.fill_between(xs, low, high, color=color, alpha=0.15, linewidth=0)

    def draw_legend(self, columns):
        from matplotlib.lines import Line2D  # pylint: disable=import-outside-toplevel

        entries = [
            Line2D([], [], color=color, linewidth=3, label=label_of(group, self.groups))
            for group, color in zip(self.groups, self.colors)
        ]
        entries += [
            Line2D([], [], color="gray", label="return of greedy evaluations", **EVALUATION_LOOK),
            Line2D([], [], color="gray", label="return while training, which explores", **TRAINING_LOOK),
        ]
        if any(len(group) > 1 for group in self.groups):
            entries.append(Line2D([], [], linestyle="", label="a run that has ended counts with its last return"))
        if any(run.target is not None for run in self.runs):
            entries.append(Line2D([], [], label="target", **TARGET_LOOK))
        self.legend.legend(handles=entries, loc="center", ncol=columns, fontsize=9, frameon=False)

    @staticmethod
    def start(panel, title, x_label):
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(x_label, fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25)

    @staticmethod
    def finish(panel, thousands):
        from matplotlib.ticker import EngFormatter  # pylint: disable=import-outside-toplevel

        if not panel.has_data():
            panel.text(0.5, 0.5, "no figures", ha="center", va="center", transform=panel.transAxes, color="gray")
        panel.set_xlim(left=0)
        if thousands:
            axis = panel.xaxis if panel.get_xlabel().endswith(" steps") else panel.yaxis
            axis.set_major_formatter(EngFormatter(sep=""))

    def save(self, path):
        """Writes a whole file: readers see the old picture or the new one, never a part."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self.figure.savefig(temporary, format="png", dpi=110)
            os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise PlotError(f"cannot write {path}: {error.strerror}") from error


def find_matplotlib():
    """Returns if matplotlib is there; otherwise restarts with the system's Python, or exits."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        if sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, os.path.abspath(__file__)] + sys.argv[1:])
        print("waggle plot: matplotlib is missing: apt install python3-matplotlib libopenblas-openmp-dev, or "
              "pip install matplotlib", file=sys.stderr)
        sys.exit(NO_MATPLOTLIB)


def main():
    parser = argparse.ArgumentParser(prog="waggle plot", description="Draws the curves of runs as a PNG.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run's folder")
    parser.add_argument("--returns", action="store_true", help="draw only the returns")
    parser.add_argument("--out", metavar="FILE", help="by default RUN/curves.png for one run and curves.png for several")
    arguments = parser.parse_args()
    find_matplotlib()
    try:
        runs = [Run(folder) for folder in arguments.runs]
        out = pathlib.Path(arguments.out or (runs[0].folder / "curves.png" if len(runs) == 1 else "curves.png"))
        Picture(runs, arguments.returns).save(out)
    except PlotError as error:
        print(f"waggle plot: {error}", file=sys.stderr)
        return 2
    print(f"wrote {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
