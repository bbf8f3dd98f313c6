#!/usr/bin/env python3
"""Tests of `waggle compare`: python3 tests/cli/run/compare_runs_test.py. Needs numpy."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCES / "cli" / "run"))

import compare_runs  # noqa: E402
import run_folders  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

SCRIPT = SOURCES / "cli" / "run" / "compare_runs.py"
YAML = """experiment:
  name: bees
  seed: {seed}
environment:
  name: {environment}
algorithm:
  name: apex_dqn
  optimizer:
    learning_rate: {rate}
"""
# Two settings, and the results of rliable 1.2.0 for them, with 50,000 bootstrap samples (20,000 for the probability).
FIVE = [487.2, 500.0, 431.5, 498.1, 476.9]
NINE = [455.0, 487.2, 390.4, 470.3, 401.8, 433.3, 460.0, 500.0, 412.6]
FIVE_IQM, FIVE_INTERVAL = 487.4, (446.6333, 499.3667)
NINE_IQM, NINE_INTERVAL = 446.24, (414.4, 475.5)
IMPROVEMENT, IMPROVEMENT_INTERVAL = 0.7555556, (0.4555556, 1.0)


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_folder(self, name, seed, rate, result, evaluations=((0, 0), (1000, 100)), environment="Hive-v0",
                   outcome="limit"):
        folder = self.root / name
        folder.mkdir()
        rows = "".join(f"{step},{step / 100},evaluation/mean_return,{value}\n" for step, value in evaluations)
        (folder / "metrics.csv").write_text("step,seconds,name,value\n" + rows)
        (folder / "experiment.yaml").write_text(YAML.format(seed=seed, rate=rate, environment=environment))
        if result is not None:
            (folder / "summary.json").write_text(json.dumps({"outcome": outcome, "result": {"mean_return": result}}))
        return folder

    def setting(self, rate, results, **more):
        return [self.run_folder(f"{rate}-{seed}", seed, rate, result, **more) for seed, result in enumerate(results)]

    def compare(self, folders, **more):
        return compare_runs.Comparison([run_folders.Run(folder) for folder in folders], **more)


@unittest.skipIf(numpy is None, "there is no numpy")
class StatisticsTest(CompareTest):
    def test_an_interquartile_mean_leaves_out_the_outer_quarters(self):
        self.assertAlmostEqual(compare_runs.interquartile_mean(FIVE), FIVE_IQM)
        self.assertAlmostEqual(compare_runs.interquartile_mean(NINE), NINE_IQM)
        self.assertEqual(compare_runs.interquartile_mean([1, 2, 60]), 21)  # Three runs are too few to leave any out.
        self.assertEqual(list(compare_runs.interquartile_mean([[4, 0, 90, 6], [1, 1, 1, 1]])), [5, 1])

    def test_a_bootstrap_interval_is_that_of_rliable(self):
        for scores, interval in ((FIVE, FIVE_INTERVAL), (NINE, NINE_INTERVAL)):
            draws = compare_runs.resampled(scores, numpy.random.default_rng(7))
            got = compare_runs.interval_of(compare_runs.interquartile_mean(draws))
            for one, wanted in zip(got, interval):
                self.assertAlmostEqual(one, wanted, delta=2)

    def test_a_bootstrap_interval_covers_the_true_mean_about_as_often_as_it_says(self):
        generator = numpy.random.default_rng(3)
        covered = 0
        for _ in range(100):
            draws = compare_runs.resampled(generator.normal(10, 2, size=30), generator)
            low, high = compare_runs.interval_of(compare_runs.interquartile_mean(draws))
            covered += low <= 10 <= high
        self.assertTrue(85 <= covered <= 100, covered)

    def test_a_probability_of_improvement_is_that_of_rliable(self):
        self.assertAlmostEqual(compare_runs.probability_of_improvement(FIVE, NINE), IMPROVEMENT, places=6)
        self.assertEqual(compare_runs.probability_of_improvement([1, 1], [1]), 0.5)
        self.assertEqual(compare_runs.probability_of_improvement([2], [1, 3, 2, 2]), 0.5)
        generator = numpy.random.default_rng(7)
        draws = compare_runs.resampled(FIVE, generator), compare_runs.resampled(NINE, generator)
        got = compare_runs.interval_of(compare_runs.probability_of_improvement(*draws))
        for one, wanted in zip(got, IMPROVEMENT_INTERVAL):
            self.assertAlmostEqual(one, wanted, delta=0.03)

    def test_an_area_is_the_mean_over_all_steps_to_the_horizon(self):
        self.assertEqual(compare_runs.area_under([0, 10], [0, 100], 10), 50)
        self.assertEqual(compare_runs.area_under([0, 10], [0, 100], 20), 75)  # The last value stays.
        self.assertEqual(compare_runs.area_under([10, 5], [100, 50], 10), (5 * 50 + 5 * 75) / 10)  # The first came early.
        self.assertEqual(compare_runs.area_under([0, 5, 10], [0, math.nan, 100], 10), 50)
        self.assertEqual(compare_runs.area_under([0], [7], 0), 7)


@unittest.skipIf(numpy is None, "there is no numpy")
class SettingsTest(CompareTest):
    def test_settings_are_sorted_and_those_like_the_best_are_marked(self):
        best = [480, 481, 482, 483, 484, 485]
        folders = self.setting("0.1", [100, 110, 120, 105, 115, 108]) + self.setting("0.2", best)
        folders += self.setting("0.3", [479, 486, 470, 490, 481, 477])
        compared = self.compare(folders).as_json()
        self.assertEqual([one["label"] for one in compared["settings"]],
                         ["learning_rate=0.2", "learning_rate=0.3", "learning_rate=0.1"])
        self.assertEqual([one["result"]["is_best"] for one in compared["settings"]], [True, False, False])
        self.assertEqual([one["result"]["ties_with_best"] for one in compared["settings"]], [True, True, False])
        self.assertEqual(compared["settings"][2]["result"]["best_is_better"],
                         {"probability": 1.0, "interval": [1.0, 1.0]})
        self.assertEqual(compared["settings"][0]["runs"], [f"0.2-{seed}" for seed in range(6)])
        self.assertEqual(compared["settings"][0]["result"]["scores"], best)
        self.assertEqual(compared, self.compare(folders).as_json())  # Equal runs, equal intervals.

    def test_the_area_ranks_by_speed(self):
        fast, slow = ((0, 0), (100, 90), (1000, 90)), ((0, 0), (900, 10), (1000, 90))
        folders = self.setting("0.1", [90] * 5, evaluations=slow) + self.setting("0.2", [89] * 5, evaluations=fast)
        self.assertEqual(self.compare(folders).settings[0]["label"], "learning_rate=0.1")
        by_area = self.compare(folders, by="area").settings
        self.assertEqual(by_area[0]["label"], "learning_rate=0.2")
        self.assertTrue(by_area[0]["area"]["is_best"])
        self.assertFalse(by_area[1]["area"]["ties_with_best"])

    def test_a_run_that_ended_early_keeps_its_return_up_to_the_longest_run(self):
        folders = self.setting("0.1", [100], evaluations=((0, 0), (500, 100)))
        folders += self.setting("0.2", [100], evaluations=((0, 0), (1000, 100)))
        compared = self.compare(folders)
        self.assertEqual(compared.horizon, 1000)
        self.assertEqual([one["area"]["iqm"] for one in compared.settings], [75, 50])

    def test_one_run_has_no_interval_and_is_never_told_apart(self):
        compared = self.compare(self.setting("0.1", [1]) + self.setting("0.2", [500, 501, 502])).as_json()
        self.assertIsNone(compared["settings"][1]["result"]["interval"])
        self.assertTrue(compared["settings"][1]["result"]["ties_with_best"])
        self.assertIsNone(compared["settings"][1]["result"]["best_is_better"]["interval"])

    def test_a_run_that_goes_on_counts_with_its_last_evaluation_and_is_named(self):
        compared = self.compare(self.setting("0.1", [None], evaluations=((1000, 40), (500, 90))))
        self.assertEqual(compared.settings[0]["result"]["scores"], [40])
        self.assertEqual(compared.unfinished, ["0.1-0"])
        self.assertIn("have not come to their end: 0.1-0", compared.as_text())

    def test_runs_on_two_environments_are_refused(self):
        folders = self.setting("0.1", [1]) + self.setting("0.2", [1], environment="Other-v0")
        with self.assertRaisesRegex(run_folders.RunError, "Hive-v0 and Other-v0"):
            self.compare(folders)


class CommandTest(CompareTest):
    def call(self, *arguments, environment=None):
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], cwd=self.root, env=environment,
                              capture_output=True, text=True, check=False)

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_a_table_and_json_are_printed(self):
        folders = self.setting("0.1", [100, 110, 120]) + self.setting("0.2", [480, 481, 482])
        done = self.call(*folders)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[1], r"^\*  learning_rate=0.2 +3 +481.0 +\[480.0, 482.0\]")
        self.assertRegex(lines[2], r"^   learning_rate=0.1 +3 +110.0 .* 1.00 \[1.00, 1.00\]$")
        self.assertIn("few runs", done.stdout)
        done = self.call("--json", "--by", "area", *folders)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["by"], "area")

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_a_wrong_folder_and_a_run_without_returns_are_named(self):
        done = self.call(self.root / "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^waggle compare: .*nowhere is no run's folder")
        folder = self.run_folder("a", 1, "0.1", None)
        (folder / "metrics.csv").write_text("step,seconds,name,value\n1,1,replay/items,3\n")
        done = self.call(folder)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "a has no returns yet")

    def test_a_missing_numpy_is_reported(self):
        # A package of this name that cannot be imported, for the system's Python as well.
        (self.root / "numpy.py").write_text("raise ImportError('a test')")
        done = self.call(self.setting("0.1", [1])[0], environment={**os.environ, "PYTHONPATH": str(self.root)})
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^waggle compare: numpy is missing: .*pip install numpy\n$")


if __name__ == "__main__":
    unittest.main()
