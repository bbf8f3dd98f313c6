"""A process that is started again when it ends, as systemd and compose do."""

import collections
import os
import pathlib
import signal
import subprocess
import threading
import time

RESTART_AFTER = 0.3  # Seconds.
# A process that ends soon after its start is started again later and later.
LONGEST_RESTART_AFTER = 2.0


class Ending:
    """The end of a process: its status as of Popen (-9: killed), and why it was expected, or None."""

    def __init__(self, name, status, expected, t, log):
        self.name, self.status, self.expected, self.t, self.log = name, status, expected, t, log

    def __str__(self):
        how = f"by signal {-self.status}" if self.status < 0 else f"with status {self.status}"
        return f"{self.name} ended {how}"


class SupervisedProcess:
    """One of Waggle's processes. Any thread; only the supervisor's thread starts it.

    `expect(statuses, why)`: the next end with one of these statuses is no problem, and is used up by it.
    `excuse(why)`: every end is expected until the returned function is called.
    """

    def __init__(self, name, kind, command, log_folder, changed):
        self.name, self.kind, self.command = name, kind, command
        self.lives = 0
        self.endings = []
        self._log_folder = pathlib.Path(log_folder)
        self._changed = changed  # A condition, which all processes share.
        self._process = None
        self._held = False
        self._restart_at = 0.0
        self._pause = RESTART_AFTER
        self._started_at = 0.0
        self._expected = []
        self._excuses = collections.Counter()
        self._next_environment = {}

    # What faults do.

    @property
    def pid(self):
        return self._process.pid if self._process is not None else None

    @property
    def alive(self):
        process = self._process
        return process is not None and process.poll() is None

    @property
    def log(self):
        """The log of its present life."""
        return self._log_folder / f"{self.name}.{self.lives}.log"

    def expect(self, statuses, why):
        with self._changed:
            self._expected.append((tuple(statuses), why))

    def forget_expectations(self):
        with self._changed:
            self._expected.clear()

    def excuse(self, why):
        with self._changed:
            self._excuses[why] += 1

        def end():
            with self._changed:
                self._excuses[why] -= 1

        return end

    def signal(self, number):
        """False if it does not live."""
        process = self._process
        if process is None or process.poll() is not None:
            return False
        process.send_signal(number)
        return True

    def kill(self, why):
        self.expect((-signal.SIGKILL,), why)
        return self.signal(signal.SIGKILL)

    def hold(self):
        """It is not started again until release()."""
        with self._changed:
            self._held = True

    def release(self, environment=None):
        """`environment`: variables for its next life alone."""
        with self._changed:
            self._held = False
            self._restart_at = 0.0
            self._next_environment = dict(environment or {})
            self._changed.notify_all()

    def await_end(self, seconds):
        """The Ending of its present life; None if it still lives after so long."""
        end = time.monotonic() + seconds
        with self._changed:
            lives = self.lives
            while True:
                found = [ending for ending in self.endings if ending.life >= lives]
                if found:
                    return found[-1]
                if time.monotonic() > end:
                    return None
                self._changed.wait(0.1)

    def await_life(self, after, seconds):
        """True once it has been started after `after` lives."""
        end = time.monotonic() + seconds
        with self._changed:
            while self.lives <= after and time.monotonic() < end:
                self._changed.wait(0.1)
            return self.lives > after

    # What the supervisor does.

    def tend(self, now, environment):
        """Starts it if it should live. Returns its Ending if it has ended just now."""
        with self._changed:
            if self._process is not None:
                status = self._process.poll()
                if status is None:
                    return None
                ending = self._take_ending(status, now)
                self._process = None
                self._pause = RESTART_AFTER if now - self._started_at > 5 else min(2 * self._pause, LONGEST_RESTART_AFTER)
                self._restart_at = now + self._pause
                self._changed.notify_all()
                return ending
            if self._held or now < self._restart_at:
                return None
            self.lives += 1
            self._started_at = now
            # Its next life has no variables of this one.
            more, self._next_environment = self._next_environment, {}
            with open(self.log, "ab") as log:
                self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 env={**os.environ, **environment, **more}, close_fds=True)
            self._changed.notify_all()
            return None

    def _take_ending(self, status, now):
        expected = next((why for why, count in self._excuses.items() if count > 0), None)
        for entry in self._expected:
            if status in entry[0]:
                expected = entry[1]
                self._expected.remove(entry)
                break
        ending = Ending(self.name, status, expected, now, self.log)
        ending.life = self.lives
        self.endings.append(ending)
        return ending

    def log_tail(self, lines=15):
        try:
            return self.log.read_text(errors="replace").splitlines()[-lines:]
        except OSError:
            return []


class Supervisor:
    """Starts processes again in its own thread, until stop(). `on_end(ending)` is called there."""

    def __init__(self, on_end):
        self.changed = threading.Condition()
        self.processes = {}
        self.hub_deaths = []
        self._environment = {}
        self._on_end = on_end
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor")

    def add(self, process):
        self.processes[process.name] = process
        return process

    def start(self, environment):
        self._environment = environment
        self._thread.start()

    def _run(self):
        # The processes are this thread's children: they die with it (setpriv --pdeathsig).
        while not self._over.wait(0.05):
            for process in list(self.processes.values()):
                ending = process.tend(time.monotonic(), self._environment)
                if ending is not None:
                    self._on_end(ending)
        self._end_all()

    def _end_all(self):
        """SIGTERM for all, and SIGKILL for those that are left."""
        end = time.monotonic() + 30
        for process in self.processes.values():
            process.hold()
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGTERM)
        while any(process.alive for process in self.processes.values()) and time.monotonic() < end:
            time.sleep(0.1)
        for process in self.processes.values():
            if process.alive:
                process.kill("did not end within 30 s")
                self._on_end(Ending(process.name, 0, None, time.monotonic(), process.log))
            ending = process.tend(time.monotonic(), {})
            if ending is not None:
                self._on_end(ending)

    def stop(self):
        self._over.set()
        self._thread.join()
