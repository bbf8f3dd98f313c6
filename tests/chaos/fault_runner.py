"""Runs a plan of faults: each at its time, in a thread of its own, and at most one at a time for each target."""

import random
import threading
import time
import traceback

from chaos_context import Skipped

MOST_AT_A_TIME = 4


class FaultRunner:
    def __init__(self, chaos, planned):
        self.done = 0  # Faults that were made.
        self._chaos, self._planned = chaos, planned
        self._locks = {name: threading.Lock() for name in chaos.pool.names()}
        self._locks.update((f"way {name}", threading.Lock()) for name in chaos.pool.proxies.proxies)
        self._count = threading.Lock()

    def run(self, meanwhile):
        """Returns once all faults are healed. Calls `meanwhile()` again and again."""
        threads = []
        room = threading.Semaphore(MOST_AT_A_TIME)
        for planned in self._planned:
            while self._chaos.now() < planned.at or not room.acquire(blocking=False):
                time.sleep(0.1)
                meanwhile()
            thread = threading.Thread(target=self._run_one, args=(planned, room), name=planned.fault.name)
            thread.start()
            threads.append(thread)
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.1)
            meanwhile()

    def _names_of_locks(self, planned):
        if not planned.target:
            return sorted(name for name in self._locks if not name.startswith("way "))
        return [f"way {planned.target}" if "ways" in planned.fault.targets else planned.target]

    def _run_one(self, planned, room):
        chaos, fault = self._chaos, planned.fault
        locks = [self._locks[name] for name in self._names_of_locks(planned)]
        for lock in locks:
            lock.acquire()
        try:
            what = f"{fault.number:4} {fault.name:22} {planned.target or 'pool'}"
            chaos.say(what)
            chaos.history.add(op="fault", number=fault.number, name=fault.name, target=planned.target,
                              seconds=planned.seconds)
            remark = fault.run(chaos, planned.target, planned.seconds, random.Random(planned.seed))
            with self._count:
                self.done += 1
            if remark:
                chaos.say(f"     {fault.name} {planned.target}: {remark}")
        except Skipped as why:
            chaos.skip(fault.name, str(why))
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            chaos.violation(f"the fault {fault.name} itself failed: {error!r}")
        finally:
            chaos.history.add(op="healed", name=fault.name, target=planned.target)
            for lock in locks:
                lock.release()
            room.release()
