"""The experiments of a chaos run: when one is over, the next of its kind is submitted."""

import json
import pathlib
import subprocess

from history_checker import OVER, gradient_problems, poll_problems

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
KINDS = {
    "apex_dqn": (
        "cartpole_apex_dqn.yaml",
        {"replay.durability": "log", "replay.servers": 2, "actor.processes": "{min: 1, max: 2}",
         "learner.checkpoint.period_seconds": 3, "evaluation.period_seconds": 3, "experiment.checkpoint.period": 8, "stop.target_return": 475,
         "stop.max_env_steps": 60000, "stop.max_seconds": 0},
    ),
    "a3c": (
        "cartpole_a3c.yaml",
        {"actor.processes": "{min: 1, max: 3}", "learner.gradient_server.reducers": 2,
         "algorithm.optimizer.learning_rate": 0.0002, "learner.checkpoint.period_seconds": 3,
         "evaluation.period_seconds": 3, "stop.target_return": 495, "stop.max_env_steps": 400000,
         "stop.max_seconds": 0},
    ),
}


class Conveyor:
    """Keeps one experiment of a kind in the hub. Used by one thread."""

    def __init__(self, kind, pool, watch, seed):
        self.kind = kind
        self.submitted = []  # Ids, in order.
        self.problems = []
        self.outcomes = []
        self._pool, self._watch, self._seed = pool, watch, seed
        self._present = None

    def tend(self, more):
        """Looks at the present experiment, and submits the next if `more`. Returns what there is to tell, or None."""
        if self._present is None:
            return self._submit() if more else None
        state = self._watch.state(self._present)
        if state not in OVER:
            return None
        experiment, self._present = self._present, None
        self.outcomes.append(state)
        text = f"{experiment} is over: {state}"
        if state not in ("solved", "limit"):
            self.problems.append(f"{text}: {self._reason(experiment)}")
        return text

    @property
    def idle(self):
        return self._present is None

    def _submit(self):
        file, settings = KINDS[self.kind]
        words = ["submit", CONFIGS / file, "--json"]
        for key, value in {**settings, "experiment.seed": self._seed + len(self.submitted)}.items():
            words += ["--set", f"{key}={value}"]
        try:
            status, said, error = self._pool.waggle(*words)
        except subprocess.TimeoutExpired:
            return None
        if status == 2:
            self.problems.append(f"the hub refuses an experiment of {self.kind}: {error}")
        if status != 0:
            return None  # The hub is away.
        # Lines on why it waits may surround it.
        self._present = next(json.loads(line)["id"] for line in said.splitlines() if line.startswith("{"))
        self.submitted.append(self._present)
        return f"{self._present} is submitted"

    def _reason(self, experiment):
        status, said, _ = self._pool.waggle("status", experiment, "--json")
        return json.loads(said)["reason"] if status == 0 else "?"

    def cuts(self):
        """The number of cuts of all its experiments."""
        last = (self._watch.last(experiment) for experiment in self.submitted)
        return sum(poll["cut"]["number"] for poll in last if poll is not None and poll["cut"] is not None)

    def present_state(self):
        last = self._watch.last(self._present) if self._present is not None else None
        return "none" if last is None else f"{self._present} {last['state']} env_steps {last['env_steps']}"

    def check(self, hub_deaths, unsaved):
        """The problems of all its experiments, once they are over."""
        problems = list(self.problems)
        for experiment in self.submitted:
            found = poll_problems(self._watch.polls[experiment], hub_deaths, unsaved)
            if self.kind == "a3c":
                status, said, error = self._pool.waggle("status", experiment, "--json")
                found += gradient_problems(json.loads(said)["gradients"]) if status == 0 else [error]
            problems += [f"{experiment}: {text}" for text in found]
        return problems
