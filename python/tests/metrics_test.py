#!/usr/bin/env python3
"""Tests of waggle_metrics: python3 python/tests/metrics_test.py

MLflow and Weights & Biases are tested if they are installed, and skipped otherwise; fakes that take the same calls are
always tested.
"""

import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from waggle_metrics import MLflowTarget, WandbTarget, read_folder, read_stream  # noqa: E402
from waggle_metrics.__main__ import main, send  # noqa: E402
from waggle_metrics.records import InputError  # noqa: E402


def has(package):
    return importlib.util.find_spec(package) is not None


def status(step, outcome="running", version=None, **figures):
    line = {"id": "pole-x7k2q", "experiment": "pole", "algorithm": "apex_dqn", "environment": "CartPole-v1", "seed": 7,
            "outcome": outcome, "env_steps": step, "learner_steps": step // 10, "wall_seconds": step / 100,
            "figures": figures, "result": None, "evaluation": None}
    if version is not None:
        line["evaluation"] = {"epoch": 1, "version": version, "env_steps": version * 10, "mean_return": version / 2,
                              "finished_at_unix_seconds": 5.0, "mean_rewards": []}
        line["result"] = {"mean_return": version / 2, "confirmed": outcome == "solved", "version": {"epoch": 1}}
    return json.dumps(line) + "\n"


STREAM = [status(100, **{"actor/return_mean": 20.0}),
          status(200, version=10, **{"actor/return_mean": 30.0, "algorithm/loss": None}),
          status(300, version=10, **{"actor/return_mean": 40.0}),
          status(400, outcome="solved", version=30, **{"actor/return_mean": 50.0})]
# Each metric of STREAM as (step, value).
RETURNS = [(100, 20.0), (200, 30.0), (300, 40.0), (400, 50.0)]
EVALUATIONS = [(100, 5.0), (300, 15.0)]


def make_run(folder):
    folder.mkdir()
    (folder / "metrics.csv").write_text(
        "step,seconds,name,value\n" + "".join(f"{step},{step / 100},actor/return_mean,{value}\n" for step, value in RETURNS)
        + "".join(f"{step},{step / 100},evaluation/mean_return,{value}\n" for step, value in EVALUATIONS)
        + "400,4,algorithm/loss,nan\n500,5,actor/ret")
    (folder / "summary.json").write_text(STREAM[-1])
    (folder / "experiment.yaml").write_text("experiment: {name: pole}\n")
    return folder


class ReadingTest(unittest.TestCase):
    def test_each_line_brings_its_figures_and_each_evaluation_comes_once_at_its_own_step(self):
        updates = list(read_stream(STREAM))
        self.assertEqual([facts.outcome for facts, _ in updates], ["running", "running", "running", "solved"])
        self.assertEqual(updates[0][0].values, {"id": "pole-x7k2q", "experiment": "pole", "algorithm": "apex_dqn",
                                                "environment": "CartPole-v1", "seed": 7})
        rows = [row for _, rows in updates for row in rows]
        evaluations = [(row.step, row.figures["evaluation/mean_return"]) for row in rows
                       if "evaluation/mean_return" in row.figures]
        self.assertEqual(evaluations, EVALUATIONS)
        returns = [(row.step, row.figures["actor/return_mean"]) for row in rows if "actor/return_mean" in row.figures]
        self.assertEqual(returns, RETURNS)
        self.assertFalse(any("algorithm/loss" in row.figures for row in rows))  # It was not known.
        self.assertEqual(updates[-1][0].result, {"mean_return": 15.0})

    def test_other_lines_are_refused_by_their_number(self):
        for line, problem in (("x\n", "line 2: wanted JSON"), ("[]\n", "line 2: got another object"),
                              ("{}\n", "line 2: got another object")):
            with self.assertRaisesRegex(InputError, problem):
                list(read_stream([STREAM[0], line]))

    def test_a_folder_has_all_its_rows_but_an_incomplete_one(self):
        with tempfile.TemporaryDirectory() as root:
            facts, rows = read_folder(make_run(pathlib.Path(root) / "run"))
            self.assertEqual((facts.name, facts.outcome), ("pole-x7k2q", "solved"))
            self.assertEqual([path.name for path in facts.files], ["experiment.yaml", "summary.json"])
            self.assertEqual([row.step for row in rows], [100, 200, 300, 400])
            self.assertEqual(rows[2].figures, {"actor/return_mean": 40.0, "evaluation/mean_return": 15.0})
            with self.assertRaisesRegex(InputError, "is no run's folder"):
                read_folder(root)
            (pathlib.Path(root) / "metrics.csv").write_text("a,b\n")
            with self.assertRaisesRegex(InputError, "is not a metrics file"):
                read_folder(root)


class FakeMLflow:
    """The calls of MLflow that are used."""

    def __init__(self):
        self.calls, self.metrics, self.artifacts = [], [], []
        self.entities = types.SimpleNamespace(
            Metric=lambda key, value, timestamp, step: types.SimpleNamespace(key=key, value=value, step=step))

    def MlflowClient(self, tracking_uri=None):  # pylint: disable=invalid-name
        self.calls.append(("client", tracking_uri))
        return self

    def get_experiment_by_name(self, name):
        return None if ("create_experiment", name) not in self.calls else types.SimpleNamespace(experiment_id="e")

    def create_experiment(self, name):
        self.calls.append(("create_experiment", name))
        return "e"

    def create_run(self, experiment_id, run_name):
        self.calls.append(("create_run", experiment_id, run_name))
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))

    def log_param(self, run, key, value):
        self.calls.append(("param", run, key, value))

    def log_batch(self, run, metrics):
        assert run == "r" and len(metrics) <= 1000
        self.metrics += [(metric.key, metric.step, metric.value) for metric in metrics]

    def log_metric(self, run, key, value):
        self.metrics.append((key, 0, value))

    def set_tag(self, run, key, value):
        self.calls.append(("tag", run, key, value))

    def log_artifact(self, run, path):
        self.artifacts.append(pathlib.Path(path).name)

    def set_terminated(self, run, state):
        self.calls.append(("terminated", run, state))


class FakeWandb:
    """The calls of Weights & Biases that are used."""

    def __init__(self):
        self.calls, self.rows, self.summary, self.saved = [], [], {}, []

    def init(self, **arguments):
        self.calls.append(("init", arguments))
        return self

    def define_metric(self, *names, **arguments):
        self.calls.append(("define", names, arguments))

    def log(self, row):
        self.rows.append(row)

    def save(self, path, base_path, policy):
        assert pathlib.Path(path).parent == pathlib.Path(base_path) and policy == "now"
        self.saved.append(pathlib.Path(path).name)

    def finish(self, exit_code):
        self.calls.append(("finish", exit_code))


class TargetTest(unittest.TestCase):
    def test_mlflow_gets_a_run_with_its_figures_and_its_end(self):
        fake = FakeMLflow()
        send(read_stream(STREAM), MLflowTarget("bees", "file:x", module=fake))
        self.assertIn(("client", "file:x"), fake.calls)
        self.assertIn(("create_run", "e", "pole-x7k2q"), fake.calls)
        self.assertIn(("param", "r", "algorithm", "apex_dqn"), fake.calls)
        self.assertEqual([(step, value) for key, step, value in fake.metrics if key == "actor/return_mean"], RETURNS)
        self.assertEqual([(step, value) for key, step, value in fake.metrics if key == "evaluation/mean_return"],
                         EVALUATIONS)
        self.assertIn(("result/mean_return", 0, 15.0), fake.metrics)
        self.assertEqual(fake.calls[-1], ("terminated", "r", "FINISHED"))

    def test_wandb_gets_a_run_with_its_figures_over_environment_steps_and_its_end(self):
        fake = FakeWandb()
        send(read_stream(STREAM), WandbTarget("bees", module=fake))
        self.assertEqual(fake.calls[0][1]["project"], "bees")
        self.assertEqual(fake.calls[0][1]["config"]["seed"], 7)
        self.assertIn(("define", ("*",), {"step_metric": "env_steps"}), fake.calls)
        returns = [(row["env_steps"], row["actor/return_mean"]) for row in fake.rows if "actor/return_mean" in row]
        self.assertEqual(returns, RETURNS)
        self.assertEqual(fake.summary, {"result/mean_return": 15.0, "outcome": "solved"})
        self.assertEqual(fake.calls[-1], ("finish", 0))

    def test_a_failed_run_and_its_files_are_marked_as_such(self):
        with tempfile.TemporaryDirectory() as root:
            folder = make_run(pathlib.Path(root) / "run")
            (folder / "summary.json").write_text(status(400, outcome="failed"))
            mlflow, wandb = FakeMLflow(), FakeWandb()
            send([read_folder(folder)], MLflowTarget("bees", module=mlflow))
            send([read_folder(folder)], WandbTarget("bees", module=wandb))
            self.assertEqual(mlflow.calls[-1], ("terminated", "r", "FAILED"))
            self.assertEqual(wandb.calls[-1], ("finish", 1))
            self.assertEqual(mlflow.artifacts, ["experiment.yaml", "summary.json"])
            self.assertEqual(wandb.saved, ["experiment.yaml", "summary.json"])

    def test_many_figures_go_to_mlflow_in_parts(self):
        fake = FakeMLflow()
        lines = [status(step, **{f"figure/{i}": float(i) for i in range(1500)}) for step in (1, 2)]
        send(read_stream(lines), MLflowTarget("bees", module=fake))
        self.assertEqual(len([key for key, _, _ in fake.metrics if key.startswith("figure/")]), 3000)

    def test_no_lines_make_no_run(self):
        fake = FakeMLflow()
        with self.assertRaises(InputError):
            send(read_stream([]), MLflowTarget("bees", module=fake))
        self.assertEqual([call[0] for call in fake.calls], ["client"])


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def call(self, *arguments, text="", **environment):
        return subprocess.run([sys.executable, "-m", "waggle_metrics", *map(str, arguments)], cwd=self.root, input=text,
                              env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True,
                              check=False)

    def test_a_missing_package_is_named(self):
        (self.root / "mlflow.py").write_text("raise ImportError('a test')")
        done = self.call("--to", "mlflow", PYTHONPATH=f"{self.root}:{ROOT}")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "mlflow is missing: pip install mlflow")

    @unittest.skipUnless(has("mlflow"), "there is no mlflow: pip install mlflow-skinny")
    def test_a_store_of_mlflow_has_the_curves(self):
        import mlflow  # pylint: disable=import-outside-toplevel

        uri = (self.root / "store").as_uri()
        environment = {"MLFLOW_ALLOW_FILE_STORE": "true"}
        os.environ.update(environment)
        done = self.call("--to", "mlflow", "--project", "bees", "--tracking-uri", uri, text="".join(STREAM), **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = make_run(self.root / "run")
        done = self.call("--to", "mlflow", "--project", "bees", "--tracking-uri", uri, run, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        client = mlflow.MlflowClient(tracking_uri=uri)
        runs = client.search_runs([client.get_experiment_by_name("bees").experiment_id])
        self.assertEqual([run.info.status for run in runs], ["FINISHED", "FINISHED"])
        for run in runs:
            self.assertEqual(run.data.params["algorithm"], "apex_dqn")
            returns = client.get_metric_history(run.info.run_id, "actor/return_mean")
            self.assertEqual(sorted((point.step, point.value) for point in returns), RETURNS)
            self.assertEqual(run.data.metrics["result/mean_return"], 15.0)

    @unittest.skipUnless(has("wandb"), "there is no wandb: pip install wandb")
    def test_an_offline_run_of_wandb_is_written(self):
        done = self.call("--to", "wandb", "--project", "bees", text="".join(STREAM), WANDB_MODE="offline",
                         WANDB_DIR=str(self.root), WANDB_SILENT="true")
        self.assertEqual(done.returncode, 0, done.stderr)
        files = list(self.root.glob("wandb/offline-run-*/run-*.wandb"))
        self.assertEqual(len(files), 1)
        self.assertIn(b"actor/return_mean", files[0].read_bytes())

    def test_wrong_input_ends_with_status_2(self):
        fake = types.ModuleType("mlflow")
        made = FakeMLflow()
        fake.entities, fake.MlflowClient = made.entities, made.MlflowClient
        sys.modules["mlflow"] = fake
        self.addCleanup(sys.modules.pop, "mlflow")
        with open(os.devnull, "w", encoding="utf-8") as quiet:
            before, sys.stderr = sys.stderr, quiet
            try:
                self.assertEqual(main(["--to", "mlflow"], io.StringIO("x\n")), 2)
                self.assertEqual(main(["--to", "mlflow", str(self.root / "nowhere")]), 2)
                self.assertEqual(main(["--to", "mlflow"], io.StringIO("".join(STREAM))), 0)
                made.log_batch = lambda *_, **__: 1 / 0
                self.assertEqual(main(["--to", "mlflow"], io.StringIO("".join(STREAM))), 1)
            finally:
                sys.stderr = before


if __name__ == "__main__":
    unittest.main()
