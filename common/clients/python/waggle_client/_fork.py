"""What becomes of clients in a process that was forked: their threads and connections stay behind in the first one.

Without this, whatever is used in the new process would wait for ever, or for a lock that nobody there will release.
"""

import os
import weakref

_watched = weakref.WeakSet()
left_behind = []  # What belongs to connections of the process before: its destructors might wait for that one's threads.


def watch(thing) -> None:
    """Has `thing.forked()` called in every process that is forked from here."""
    _watched.add(thing)


def _forked():
    for thing in list(_watched):
        thing.forked()


def message(what) -> str:
    return (
        f"{what}: was made before process {os.getpid()} was forked, and stayed behind in the one before: make a client "
        "of its own in each process, after the fork"
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
