#!/usr/bin/env python3
"""Compares settings by the results of their runs, for `waggle compare`.

usage: compare_runs.py [--json] [--by result|area] RUN...

Runs of one experiment that differ only in their seed are one setting. For each setting it prints the interquartile mean
over the runs, a bootstrap interval, and the probability that a run of the best setting is better than a run of this
setting. Reads each RUN's metrics.csv and, if they exist, its experiment.yaml, summary.json and fetched.json. Exits with 0,
2 if a folder or file is wrong, 3 if there is no numpy.
"""

import argparse
import json
import math
import sys

from run_folders import EVALUATION, TRAINING, Run, RunError, environment_of, find_package, group_runs, labels_of

REPEATS = 10_000  # Bootstrap samples.
INTERVAL = (2.5, 97.5)  # Percentiles.
TRIM = 0.25  # Share of the runs that the interquartile mean leaves out at each end.
FEW_SEEDS = 5  # With fewer runs, bootstrap intervals are too narrow.


def interquartile_mean(scores):
    """The mean over the last axis without the lowest and the highest quarter, rounded down to whole runs."""
    import numpy as np  # pylint: disable=import-outside-toplevel

    scores = np.sort(np.asarray(scores, dtype=float), axis=-1)
    count = scores.shape[-1]
    cut = int(TRIM * count)
    return scores[..., cut:count - cut].mean(axis=-1)


def resampled(scores, generator):
    """REPEATS bootstrap samples, one a row: as many scores, drawn with replacement."""
    import numpy as np  # pylint: disable=import-outside-toplevel

    scores = np.asarray(scores, dtype=float)
    return scores[generator.integers(0, len(scores), size=(REPEATS, len(scores)))]


def interval_of(values):
    import numpy as np  # pylint: disable=import-outside-toplevel

    low, high = np.percentile(values, INTERVAL)
    return [float(low), float(high)]


def probability_of_improvement(scores, others):
    """The share of pairs in which the first score is higher; equal scores count half. Scores are along the last axis."""
    import numpy as np  # pylint: disable=import-outside-toplevel

    scores = np.asarray(scores, dtype=float)[..., :, None]
    others = np.asarray(others, dtype=float)[..., None, :]
    return ((scores > others) + 0.5 * (scores == others)).mean(axis=(-1, -2))


def area_under(steps, values, horizon):
    """The mean value from step 0 to the horizon. The first value holds before its step, the last one after it."""
    points = sorted((step, value) for step, value in zip(steps, values) if math.isfinite(value))
    if not points:
        return math.nan
    if horizon <= 0:
        return points[-1][1]
    points = [(0, points[0][1])] + points + [(max(horizon, points[-1][0]), points[-1][1])]
    area = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in zip(points, points[1:]))
    return area / points[-1][0]


class Scores:
    """The two scores of a run, its result and its area."""

    def __init__(self, run):
        self.run = run
        self.series = run.series.get(EVALUATION) or run.series.get(TRAINING)
        if self.series is None or not any(math.isfinite(value) for value in self.series.values):
            raise RunError(f"{run.folder} has no returns yet")

    @property
    def last_step(self):
        return max(self.series.steps)

    @property
    def ended(self):
        return self.run.summary.get("outcome") in ("solved", "limit")

    @property
    def result(self):
        """The mean return of the run's best weights, or of the last evaluation if the run has no result."""
        result = self.run.summary.get("result")
        mean = result.get("mean_return") if isinstance(result, dict) else None
        if isinstance(mean, (int, float)):
            return float(mean)
        points = zip(self.series.steps, self.series.values)
        return [value for _, value in sorted(points, key=lambda point: point[0]) if math.isfinite(value)][-1]

    def area(self, horizon):
        return area_under(self.series.steps, self.series.values, horizon)


class Comparison:
    """The settings, the best one by `by` ("result" or "area") first."""

    def __init__(self, runs, by="result"):
        import numpy as np  # pylint: disable=import-outside-toplevel

        self.by = by
        groups = group_runs(runs)
        environments = sorted({environment_of(run) for run in runs})
        if len(environments) > 1:
            raise RunError(f"environment: got runs on {' and '.join(environments)}; wanted runs on one, because returns "
                           "of different environments cannot be compared")
        self.environment = environments[0]
        if not any(run.takes_steps for run in runs):
            for run in runs:
                run.count_learner_steps()
        scores = [[Scores(run) for run in group] for group in groups]
        everyone = [one for group in scores for one in group]
        self.horizon = max(one.last_step for one in everyone)
        self.unfinished = [one.run.name for one in everyone if not one.ended]
        generator = np.random.default_rng(0)  # Equal runs give equal intervals.
        self.settings = []
        for group, members, label in zip(groups, scores, labels_of(groups)):
            setting = {"label": label, "runs": [run.name for run in group]}
            for kind, values in (("result", [one.result for one in members]),
                                 ("area", [one.area(self.horizon) for one in members])):
                draws = resampled(values, generator)
                setting[kind] = {
                    "iqm": float(interquartile_mean(values)),
                    "interval": interval_of(interquartile_mean(draws)) if len(values) > 1 else None,
                    "scores": values,
                    "draws": draws,
                }
            self.settings.append(setting)
        for kind in ("area", "result"):
            self.compare_with_best(kind)
        self.settings.sort(key=lambda setting: -setting[by]["iqm"])

    def compare_with_best(self, kind):
        """Sets `is_best`, `ties_with_best` and the probability that a run of the best setting is better."""
        best = max((setting[kind] for setting in self.settings), key=lambda score: score["iqm"])
        for setting in self.settings:
            one = setting[kind]
            if one is best:
                one.update(is_best=True, ties_with_best=True, best_is_better=None)
                continue
            lead = interval_of(interquartile_mean(best["draws"]) - interquartile_mean(one["draws"]))
            known = len(best["scores"]) > 1 and len(one["scores"]) > 1
            one.update(
                is_best=False,
                ties_with_best=not known or lead[0] <= 0,
                best_is_better={
                    "probability": float(probability_of_improvement(best["scores"], one["scores"])),
                    "interval": interval_of(probability_of_improvement(best["draws"], one["draws"])) if known else None,
                },
            )

    def as_json(self):
        def without_draws(score):
            return {key: value for key, value in score.items() if key != "draws"}

        return {
            "environment": self.environment,
            "horizon": self.horizon,
            "by": self.by,
            "unfinished": self.unfinished,
            "settings": [{**setting, **{kind: without_draws(setting[kind]) for kind in ("result", "area")}}
                         for setting in self.settings],
        }

    def as_text(self):
        rows = [["", "setting", "runs", "result", "95 %", "area", "95 %", "best is better"]]
        for setting in self.settings:
            by = setting[self.by]
            better = by["best_is_better"]
            rows.append([
                "*" if by["is_best"] else "=" if by["ties_with_best"] else "",
                setting["label"],
                str(len(setting["runs"])),
                *figures_of(setting["result"]),
                *figures_of(setting["area"]),
                "" if better is None else f"{better['probability']:.2f}" + span_of(better["interval"], ".2f", " "),
            ])
        lines = aligned(rows)
        lines += [
            "",
            f"* the setting with the best {self.by}",
            "= cannot be told apart from the best: the 95 % interval of the difference has zero",
            "result: the mean return of a run's best weights",
            f"area: the mean return of a run's evaluations over {self.horizon:,} steps",
            "Both scores are the interquartile mean over the runs of a setting.",
        ]
        fewest = min(len(setting["runs"]) for setting in self.settings)
        if fewest < FEW_SEEDS:
            lines.append(f"few runs: got {fewest} of a setting; wanted at least {FEW_SEEDS}, because intervals of fewer "
                         "are too narrow, and one run has none")
        if self.unfinished:
            lines.append(f"runs that have not come to their end: {', '.join(self.unfinished)}")
        return "\n".join(lines) + "\n"


def span_of(interval, form, before=""):
    return "" if interval is None else f"{before}[{interval[0]:{form}}, {interval[1]:{form}}]"


def figures_of(score):
    form = ".1f" if max(abs(value) for value in score["scores"]) >= 10 else ".3g"
    return [format(score["iqm"], form), span_of(score["interval"], form)]


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 1)
    return ["  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def main():
    parser = argparse.ArgumentParser(prog="waggle compare", description="Compares settings by the results of their runs.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run's folder")
    parser.add_argument("--by", choices=["result", "area"], default="result", help="the score that settings are sorted by")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    find_package("numpy", "compare", "apt install python3-numpy, or pip install numpy")
    try:
        comparison = Comparison([Run(folder) for folder in arguments.runs], arguments.by)
    except RunError as error:
        print(f"waggle compare: {error}", file=sys.stderr)
        return 2
    print(json.dumps(comparison.as_json(), indent=2) if arguments.json else comparison.as_text(),
          end="\n" if arguments.json else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
