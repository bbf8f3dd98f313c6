#!/usr/bin/env python3
"""Draws the curves of runs as a PNG, for `waggle plot` and for the end of `waggle run`.

usage: plot_runs.py [--out FILE] RUN...

Reads each RUN's metrics.csv and, if they exist, its experiment.yaml and summary.json. Runs of one experiment that differ
only in their seed become one curve. Exits with 0, 2 if a folder or file is wrong, 3 if there is no matplotlib.
"""

import argparse
import bisect
import math
import os
import pathlib
import statistics
import sys

from run_folders import EVALUATION, TRAINING, Run, RunError, find_package, group_runs, labels_of

GRID_POINTS = 300

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
        legend_height = 0.3 + 0.22 * math.ceil((len(self.groups) + 5) / columns)
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
            Line2D([], [], color=color, linewidth=3, label=f"{label}, {len(group)} seeds" if len(group) > 1 else label)
            for group, color, label in zip(self.groups, self.colors, labels_of(self.groups))
        ]
        entries += [
            Line2D([], [], color="gray", label="return of greedy evaluations", **EVALUATION_LOOK),
            Line2D([], [], color="gray", label="return while training, which explores", **TRAINING_LOOK),
        ]
        if any(len(group) > 1 for group in self.groups):
            entries.append(Line2D([], [], color="gray", linewidth=3, alpha=0.3, label="seeds: mean ± standard deviation"))
            entries.append(Line2D([], [], color="gray", linestyle=":",
                                  label="once a run has ended: it counts with its last return"))
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
            raise RunError(f"cannot write {path}: {error.strerror}") from error


def main():
    parser = argparse.ArgumentParser(prog="waggle plot", description="Draws the curves of runs as a PNG.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run's folder")
    parser.add_argument("--returns", action="store_true", help="draw only the returns")
    parser.add_argument("--out", metavar="FILE", help="by default RUN/curves.png for one run and curves.png for several")
    arguments = parser.parse_args()
    find_package("matplotlib", "plot", "apt install python3-matplotlib libopenblas-openmp-dev, or pip install matplotlib")
    try:
        runs = [Run(folder) for folder in arguments.runs]
        out = pathlib.Path(arguments.out or (runs[0].folder / "curves.png" if len(runs) == 1 else "curves.png"))
        Picture(runs, arguments.returns).save(out)
    except RunError as error:
        print(f"waggle plot: {error}", file=sys.stderr)
        return 2
    print(f"wrote {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
