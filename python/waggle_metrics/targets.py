"""Targets of figures. Each needs its package: mlflow or mlflow-skinny, or wandb."""

import time

FAILED = ("failed", "stopped", "interrupted")
MLFLOW_BATCH = 1000  # The most figures that MLflow takes in one call.


class MLflowTarget:
    """A run in an MLflow server or store."""

    def __init__(self, project, tracking_uri=None, module=None):
        if module is None:
            import mlflow as module  # pylint: disable=import-outside-toplevel
        self._entities = module.entities
        self._client = module.MlflowClient(tracking_uri=tracking_uri)
        self._project = project
        self._run = None
        self._begin = time.time()

    def start(self, facts):
        experiment = self._client.get_experiment_by_name(self._project)
        experiment_id = experiment.experiment_id if experiment else self._client.create_experiment(self._project)
        self._run = self._client.create_run(experiment_id, run_name=facts.name).info.run_id
        for key, value in facts.values.items():
            self._client.log_param(self._run, key, value)

    def write(self, rows):
        metrics = [self._entities.Metric(name, value, int((self._begin + moment.seconds) * 1000), moment.step)
                   for moment in rows for name, value in moment.figures.items()]
        for first in range(0, len(metrics), MLFLOW_BATCH):
            self._client.log_batch(self._run, metrics=metrics[first:first + MLFLOW_BATCH])

    def finish(self, facts):
        for name, value in facts.result.items():
            self._client.log_metric(self._run, f"result/{name}", value)
        self._client.set_tag(self._run, "outcome", facts.outcome)
        for file in facts.files:
            self._client.log_artifact(self._run, str(file))
        self._client.set_terminated(self._run, "FAILED" if facts.outcome in FAILED else "FINISHED")


class WandbTarget:
    """A run in a project of Weights & Biases; offline if WANDB_MODE is offline."""

    def __init__(self, project, module=None):
        if module is None:
            import wandb as module  # pylint: disable=import-outside-toplevel
        self._module = module
        self._project = project
        self._run = None

    def start(self, facts):
        self._run = self._module.init(project=self._project, name=facts.name, config=dict(facts.values))
        # An evaluation's step may be earlier than that of figures that were sent before it.
        self._run.define_metric("env_steps")
        self._run.define_metric("*", step_metric="env_steps")

    def write(self, rows):
        for moment in rows:
            self._run.log({**moment.figures, "env_steps": moment.step, "seconds": moment.seconds})

    def finish(self, facts):
        self._run.summary.update({f"result/{name}": value for name, value in facts.result.items()})
        self._run.summary["outcome"] = facts.outcome
        for file in facts.files:
            self._run.save(str(file), base_path=str(file.parent), policy="now")
        self._run.finish(exit_code=1 if facts.outcome in FAILED else 0)
