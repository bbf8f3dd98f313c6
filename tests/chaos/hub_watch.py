"""Asks the hub for its experiments again and again, in its own thread, and keeps the answers."""

import threading
import time
from collections import defaultdict

import grpc

import wire

PERIOD = 0.7
UNSAVED = ("progress_unsaved", "weights_unsaved", "figures_unrecorded")


class HubWatch:
    """`polls` has a list of polls for each experiment, as history_checker.poll_problems takes them."""

    def __init__(self, messages, pool, history):
        self.polls = defaultdict(list)
        self._messages = messages
        self._pool = pool
        self._history = history
        self._over = threading.Event()
        channel = wire.channel(pool.hub)
        self._channel = channel
        self._list = messages.stub(channel, "ExperimentService/List")
        self._cuts = messages.stub(channel, "ExperimentService/Cuts")
        self._overview = messages.stub(channel, "WorkerService/Overview")
        self._states = {number: name.removeprefix("RUN_STATE_").lower()
                        for name, number in messages.enum("RunState").items()}
        self._thread = threading.Thread(target=self._run, name="hub watch")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._channel.close()

    def state(self, experiment):
        polls = self.polls[experiment]
        return polls[-1]["state"] if polls else ""

    def last(self, experiment):
        polls = self.polls[experiment]
        return polls[-1] if polls else None

    def _run(self):
        while not self._over.wait(PERIOD):
            try:
                self._poll()
            except grpc.RpcError:
                pass  # The hub is away, or stands still.

    def _poll(self):
        life = len(self._pool.hub_deaths)
        pid = self._pool["hub"].pid
        asked = time.monotonic()
        listed = self._list(self._messages.message("ListExperimentsRequest")(limit=1000), timeout=5)
        polls = []
        for info in listed.experiments:
            before = self.last(info.id)
            if before is not None and before["state"] == "over":
                continue
            poll = {"t": asked, "life": life, "state": self._states[info.state], "env_steps": info.env_steps,
                    "learner_steps": info.learner_steps, "epoch": before["epoch"] if before else 0,
                    "version": before["version"] if before else 0, "unsaved": "",
                    "cut": before["cut"] if before else None}
            if info.workers_wanted > 0:
                self._add_overview(info.id, poll)
            elif poll["state"] == "running" and poll["env_steps"] == 0:
                continue  # The hub has not read the run's files yet.
            polls.append((info.id, poll))
        # An answer of the next hub must not count for this one.
        if life != len(self._pool.hub_deaths) or pid != self._pool["hub"].pid or not self._pool["hub"].alive:
            return
        for experiment, poll in polls:
            self.polls[experiment].append(poll)
            self._history.add(op="poll", experiment=experiment, **poll)

    def _add_overview(self, experiment, poll):
        try:
            cuts = self._cuts(self._messages.message("CutsRequest")(id=experiment), timeout=5).cuts
            overview = self._overview(self._messages.message("OverviewRequest")(experiment_id=experiment), timeout=5)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION):
                return  # It has ended just now.
            raise
        poll["cut"] = ({"number": cuts[-1].number, "env_steps": cuts[-1].env_steps,
                        "learner_steps": cuts[-1].learner_steps} if cuts else None)
        poll["unsaved"] = " ".join(filter(None, (getattr(overview, name) for name in UNSAVED)))
        poll["epoch"] = overview.model_version.epoch
        poll["version"] = overview.model_version.version
