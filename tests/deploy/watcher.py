"""Watches an experiment's status in its own thread."""

import threading
import time

OUTCOMES = ("queued", "running", "finishing", "solved", "limit", "failed", "stopped")
LAST = OUTCOMES[3:]
COUNTS = ("env_steps", "learner_steps")


WRITTEN = 10  # The seconds after which the hub has saved its counts: it saves them every five.


def problems(history, killed=()):
    """The problems of consecutive statuses: a list of sentences. `killed`: for each kill of the hub, the number of statuses
    before it, except one that was on its way, and the last status that the hub had saved."""
    found = []
    for position, (before, after) in enumerate(zip(history, history[1:]), start=1):
        for count in COUNTS:
            least = min([before[count], *(written[count] for came, written in killed if position - came in (0, 1))])
            if after[count] < least:
                found.append(f"{count} went back from {before[count]} to {after[count]}")
        if before["outcome"] in LAST and after["outcome"] != before["outcome"]:
            found.append(f"an experiment that was {before['outcome']} became {after['outcome']}")
        if before["outcome"] != "queued" and after["outcome"] == "queued":
            found.append(f"an experiment that was {before['outcome']} became queued")
    for status in history:
        if status["outcome"] not in OUTCOMES:
            found.append(f"got the outcome {status['outcome']}; wanted one of {', '.join(OUTCOMES)}")
    return found


class Watcher:
    """with Watcher(cluster, experiment) as watcher: …; then watcher.problems() lists the problems."""

    def __init__(self, cluster, experiment, name):
        self._cluster = cluster
        self._experiment = experiment
        self._name = name  # For its output.
        self._over = threading.Event()
        self._history = []  # Only appended to, by the thread.
        self._times = []
        self._killed = []
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def problems(self):
        return problems(list(self._history), self._killed) if self._history else ["there was no status"]

    def hub_is_killed(self):
        """The hub has just been killed: counts that it had not saved may be lost."""
        now = time.monotonic()
        came = len(self._history)
        old = [status for at, status in zip(self._times, self._history[:came]) if at < now - WRITTEN]
        self._killed.append((came, old[-1] if old else dict.fromkeys(COUNTS, 0)))

    def last(self):
        return self._history[-1] if self._history else None

    def _watch(self):
        start = time.monotonic()
        stepped = False
        while not self._over.wait(0.2):
            status = self._cluster.status(self._experiment)
            if status is None:
                continue
            self._times.append(time.monotonic())
            self._history.append(status)
            if status["env_steps"] > 0 and not stepped:
                stepped = True
                print(f"{self._name}: submit to the first environment step: {time.monotonic() - start:.1f} s", flush=True)
