"""The history of a chaos run: a file of JSON lines that several processes append to."""

import json
import threading
import time


class History:
    """Appends events to the file at `path`. Thread-safe. An event is a line, and is written at once."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")  # Lines that are appended whole do not mix.
        self._lock = threading.Lock()

    def add(self, **event):
        with self._lock:
            # Under the lock, so that the order of a process's lines is that of their times.
            event.setdefault("t", time.monotonic())
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()

    def close(self):
        with self._lock:
            self._file.close()


def read(path):
    """All events, sorted by time."""
    with open(path, encoding="utf-8") as file:
        # The last line may be half written.
        return sorted((json.loads(line) for line in file if line.endswith("\n")), key=lambda event: event["t"])
