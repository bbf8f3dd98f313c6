"""The samplers of Client.sample, which stay open from one call to the next."""

import threading

from waggle_client import _fork


class IdleSamplers:
    """Samplers that no call is using, by table. Thread-safe: a call has its sampler to itself."""

    def __init__(self):
        self._lock = threading.Lock()
        self._idle = {}
        _fork.watch(self)
        _fork.close_before(self)

    def forked(self):
        self._lock = threading.Lock()
        return False

    def take(self, table, items):
        """A sampler for batches of at least `items` items; None if there is none."""
        with self._lock:
            idle = self._idle.get(table)
            sampler = idle.pop() if idle else None
        if sampler is None or sampler._core.largest >= items:
            return sampler
        sampler.close()
        return self.take(table, items)

    def give_back(self, table, sampler):
        with self._lock:
            self._idle.setdefault(table, []).append(sampler)

    def close(self):
        with self._lock:
            idle, self._idle = self._idle, {}
        for samplers in idle.values():
            for sampler in samplers:
                sampler.close()
