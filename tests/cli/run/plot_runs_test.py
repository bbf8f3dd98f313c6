#!/usr/bin/env python3
"""Tests of `waggle plot`: python3 tests/cli/run/plot_runs_test.py"""

import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCES / "cli" / "run"))

import plot_runs  # noqa: E402
import run_folders  # noqa: E402

SCRIPT = SOURCES / "cli" / "run" / "plot_runs.py"
YAML = """experiment:
  name: bees
  seed: {seed}
environment:
  name: Hive-v0
algorithm:
  name: apex_dqn
  optimizer:
    name: adam
learner:
  batch_size: {batch}
stop:
  target_return: 475
"""


def metrics(rows):
    return "step,seconds,name,value\n" + "".join(f"{step},{at:.3f},{name},{value}\n" for step, at, name, value in rows)


class PlotTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_folder(self, name, seed=1, batch=64, rows=None):
        """A run with a return that grows by 100 a second, and by its seed, for four seconds and a seed."""
        folder = self.root / name
        folder.mkdir()
        if rows is None:
            rows = []
            for i in range(2 * (4 + seed)):
                at = i / 2
                rows.append((1000 * i, at, "actor/env_steps_per_s", 2000))
                rows.append((1000 * i, at, "evaluation/mean_return", 100 * at + seed))
        (folder / "metrics.csv").write_text(metrics(rows))
        (folder / "experiment.yaml").write_text(YAML.format(seed=seed, batch=batch))
        return folder


class ReadingTest(PlotTest):
    def test_one_run_has_a_title(self):
        folder = self.run_folder("a", seed=3)
        (folder / "summary.json").write_text(json.dumps({"outcome": "solved", "env_steps": 8000, "wall_seconds": 7.25}))
        run = plot_runs.Run(folder)
        self.assertEqual(run.experiment, "bees")
        self.assertEqual(run.target, 475)
        self.assertEqual(run.facts["algorithm.name"], "apex_dqn")
        title = "bees: apex_dqn on Hive-v0, seed 3\nsolved after 8,000 environment steps and 7.25 s"
        self.assertEqual(plot_runs.title_of([run]), title)

    def test_an_incomplete_last_row_is_left_out(self):
        folder = self.run_folder("a", rows=[(0, 0, "x", 1)])
        with open(folder / "metrics.csv", "a", encoding="utf-8") as file:
            file.write("5,0.5,x")
        self.assertEqual(run_folders.read_metrics(folder / "metrics.csv")["x"].values, [1])

    def test_evaluations_that_finish_in_another_order_are_drawn_by_their_steps(self):
        rows = [(700, 5, "evaluation/mean_return", 10), (700, 6, "evaluation/mean_return", 20)]
        rows.append((400, 6, "evaluation/mean_return", 30))
        series = plot_runs.Run(self.run_folder("a", rows=rows)).series["evaluation/mean_return"]
        self.assertEqual(series.curve("steps", gaps=False), ([400, 700, 700], [30, 10, 20]))
        self.assertEqual(series.curve("seconds", gaps=False), ([5, 6, 6], [10, 20, 30]))

    def test_another_file_is_refused_by_its_path(self):
        folder = self.run_folder("a")
        for text, message in [
            ("a,b\n", "is not a metrics file"),
            ("step,seconds,name,value\n", "has no figures yet"),
            ("step,seconds,name,value\n1,2,x,3\n1,2,x,many\n", "metrics.csv:3: wanted"),
            ("step,seconds,name,value\n1,2,3\n", "metrics.csv:2: wanted"),
        ]:
            (folder / "metrics.csv").write_text(text)
            with self.assertRaisesRegex(run_folders.RunError, message):
                plot_runs.Run(folder)
        with self.assertRaisesRegex(run_folders.RunError, "is no run's folder"):
            plot_runs.Run(self.root / "nowhere")

    def test_runs_that_differ_only_in_their_seed_are_one_group(self):
        folders = [self.run_folder("a"), self.run_folder("b", batch=32), self.run_folder("c", seed=2)]
        runs = [plot_runs.Run(folder) for folder in folders]
        groups = plot_runs.group_runs(runs + [runs[0]])
        self.assertEqual([[run.name for run in group] for group in groups], [["a", "c"], ["b"]])
        self.assertEqual(run_folders.labels_of(groups), ["batch_size=64", "batch_size=32"])
        self.assertEqual(run_folders.labels_of(groups[1:]), ["bees"])

    def test_labels_have_the_shortest_names_of_the_keys_that_differ(self):
        texts = ["a:\n  rate: 1\n  x:\n    rate: 3\nnets:\n  - {type: mlp}\n  - {type: lstm}\nb: 4\n",
                 "a:\n  rate: 2\n  x:\n    rate: 5\nnets:\n  - {type: mlp}\nb: 4\n"]
        groups = []
        for number, text in enumerate(texts):
            folder = self.run_folder(str(number))
            (folder / "experiment.yaml").write_text(text)
            groups.append([plot_runs.Run(folder)])
        self.assertEqual(groups[0][0].values,
                         {"a.rate": "1", "a.x.rate": "3", "nets": "- {type: mlp} - {type: lstm}", "b": "4"})
        self.assertEqual(run_folders.short_names(["a.rate", "a.x.rate", "nets"]),
                         {"a.rate": "a.rate", "a.x.rate": "x.rate", "nets": "nets"})
        self.assertEqual(run_folders.differing_keys(groups), ["a.rate", "a.x.rate", "nets"])

    def test_labels_of_a_sweep_have_its_settings_alone(self):
        groups = []
        for rate in ("0.1", "0.2"):
            folder = self.run_folder(rate, batch=int(float(rate) * 100))
            (folder / "fetched.json").write_text(json.dumps({"settings": {"algorithm.rate": rate}}))
            groups.append([plot_runs.Run(folder)])
        self.assertEqual(run_folders.labels_of(groups), ["rate=0.1", "rate=0.2"])

    def test_runs_that_nothing_tells_apart_are_labelled_by_their_folders(self):
        groups = []
        for name in ("one", "two"):
            folder = self.run_folder(name)
            (folder / "experiment.yaml").unlink()
            groups.append([plot_runs.Run(folder)])
        self.assertEqual(run_folders.labels_of(groups), ["one", "two"])


class CurveTest(unittest.TestCase):
    def test_a_pause_and_a_missing_value_are_gaps(self):
        series = run_folders.Series()
        for at in [0, 0.5, 1, 1.5, 2, 12, 12.5]:
            series.add(int(10 * at), at, math.nan if at == 1 else at)
        xs, ys = series.curve("seconds", gaps=True)
        self.assertEqual(xs, [0, 0.5, 1, 1.5, 2, 7, 12, 12.5])
        self.assertEqual([x for x, y in zip(xs, ys) if math.isnan(y)], [1, 7])
        self.assertEqual(len(series.curve("steps", gaps=False)[0]), 7)

    def test_figures_that_come_a_few_seconds_late_leave_no_gap(self):
        series = run_folders.Series()
        for at in [0, 1, 1, 1, 1, 1, 5.5, 11]:  # Rows of a hub whose clock is behind its file have one time.
            series.add(int(10 * at), at, at)
        xs, ys = series.curve("seconds", gaps=True)
        self.assertEqual([x for x, y in zip(xs, ys) if math.isnan(y)], [8.25])

    def test_the_mean_begins_where_all_curves_are(self):
        xs, means, spreads, first_end = plot_runs.mean_and_spread([([0, 3], [0, 3]), ([1, 3], [3, 5])], True, points=3)
        self.assertEqual(xs, [1, 2, 3])
        self.assertEqual(means, [2, 3, 4])
        self.assertEqual(first_end, 3)
        for spread in spreads:
            self.assertAlmostEqual(spread, math.sqrt(2))

    def test_past_the_end_of_a_run_its_return_stays_and_its_rates_end(self):
        curves = [([0, 1, 2], [10, 20, math.nan]), ([0, 4], [0, 40])]
        xs, means, spreads, first_end = plot_runs.mean_and_spread(curves, True, points=5)
        self.assertEqual((xs, first_end), ([0, 1, 2, 3, 4], 2))
        self.assertEqual([means[0], means[1], means[3], means[4]], [5, 15, 25, 30])
        self.assertAlmostEqual(spreads[4], 10 * math.sqrt(2))
        _, means, spreads, _ = plot_runs.mean_and_spread(curves, False, points=5)
        self.assertEqual([means[1], means[3], means[4]], [15, 30, 40])
        self.assertTrue(math.isnan(spreads[4]))  # One run has no spread.

    def test_a_gap_in_one_curve_is_a_gap_in_the_mean(self):
        curves = [([0, 1, 2, 3, 4], [1, 1, math.nan, 1, 1]), ([0, 4], [3, 3])]
        _, means, _, _ = plot_runs.mean_and_spread(curves, True, points=5)
        self.assertEqual([math.isnan(mean) for mean in means], [False, False, True, False, False])
        self.assertEqual([means[0], means[4]], [2, 2])

    def test_curves_that_never_meet_have_no_mean(self):
        self.assertEqual(plot_runs.mean_and_spread([([0, 1], [0, 0]), ([2, 3], [0, 0])], True)[:3], ([], [], []))
        self.assertEqual(plot_runs.mean_and_spread([([0, 1], [0, 0]), ([], [])], True)[:3], ([], [], []))


def has_matplotlib():
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return False
    return True


class CommandTest(PlotTest):
    def plot(self, *arguments, environment=None):
        return subprocess.run(
            [sys.executable, str(SCRIPT), *map(str, arguments)],
            cwd=self.root, env=environment, capture_output=True, text=True, check=False,
        )

    def assert_picture(self, path):
        data = path.read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", data[16:24])
        self.assertTrue(800 < width < 2000 and 800 < height < 2000, (width, height))

    @unittest.skipUnless(has_matplotlib(), "there is no matplotlib")
    def test_a_run_without_actors_is_drawn_over_its_learner_steps(self):
        rows = [(0, float(i), name, value) for i in range(5)
                for name, value in (("evaluation/mean_return", 10 * i), ("evaluation/version", 250 * i))]
        picture = plot_runs.Picture([plot_runs.Run(self.run_folder("a", rows=rows))], returns_only=True)
        self.assertEqual([panel.get_xlabel() for panel in picture.panels], ["learner steps", "seconds"])
        drawn = picture.panels[0].lines[0].get_xdata()
        self.assertEqual(list(drawn), [0, 250, 500, 750, 1000])

    @unittest.skipUnless(has_matplotlib(), "there is no matplotlib")
    def test_every_panel_has_its_curves(self):
        rows = []
        for i in range(20):
            for _, curves in plot_runs.PANELS:
                rows += [(100 * i, i / 2, name, i) for name, _, _ in curves]
            rows += [(100 * i, i / 2, name, i) for name in (plot_runs.TRAINING, plot_runs.EVALUATION)]
        runs = [plot_runs.Run(self.run_folder(str(seed), seed=seed, rows=rows)) for seed in (1, 2)]
        runs.append(plot_runs.Run(self.run_folder("other", batch=32, rows=rows[:8])))
        picture = plot_runs.Picture(runs)
        titles = [panel.get_title() for panel in picture.panels]
        self.assertEqual(titles, ["return", "return"] + [title for title, _ in plot_runs.PANELS])
        self.assertEqual([panel.get_xlabel() for panel in picture.panels], ["environment steps"] + ["seconds"] * 5)
        for panel in picture.panels:
            self.assertGreaterEqual(len(panel.lines), 3, panel.get_title())  # Two seeds and their mean.
        labels = [text.get_text() for text in picture.legend.get_legend().get_texts()]
        self.assertEqual(labels[:2], ["batch_size=64, 2 seeds", "batch_size=32"])
        self.assertEqual(len(labels), 7)
        # The mean over two seeds, one of which has ended, goes on to the end of the other.
        folders = [self.run_folder("short"), self.run_folder("long", seed=3)]
        two = plot_runs.Picture([plot_runs.Run(folder) for folder in folders])
        self.assertEqual(max(two.panels[1].lines[-2].get_xdata()), 6.5)
        self.assertIn("target", labels)
        returns = plot_runs.Picture(runs, returns_only=True)
        self.assertEqual([panel.get_title() for panel in returns.panels], ["return", "return"])

    @unittest.skipUnless(has_matplotlib(), "there is no matplotlib")
    def test_one_run_is_drawn_into_its_folder_and_several_where_one_is(self):
        one, two = self.run_folder("one"), self.run_folder("two", seed=2)
        done = self.plot(one)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_picture(one / "curves.png")
        self.assertEqual(self.plot(one, two).returncode, 0)
        self.assert_picture(self.root / "curves.png")
        self.assertEqual(self.plot("--out=deep.png", "--", one).returncode, 0)
        self.assert_picture(self.root / "deep.png")
        # Nothing is left beside them.
        self.assertEqual({path.name for path in self.root.iterdir()}, {"one", "two", "curves.png", "deep.png"})

    @unittest.skipUnless(has_matplotlib(), "there is no matplotlib")
    def test_a_wrong_folder_or_file_is_named(self):
        done = self.plot(self.root / "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^waggle plot: .*nowhere is no run's folder: metrics.csv: No such file")
        done = self.plot("--out", self.root / "no" / "x.png", self.run_folder("one"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^waggle plot: cannot write .*x.png: No such file")

    def test_a_missing_matplotlib_is_reported(self):
        # A package of this name that cannot be imported, for the system's Python as well.
        (self.root / "matplotlib.py").write_text("raise ImportError('a test')")
        done = self.plot(self.run_folder("one"), environment={**os.environ, "PYTHONPATH": str(self.root)})
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^waggle plot: matplotlib is missing: .*pip install matplotlib\n$")


if __name__ == "__main__":
    unittest.main()
