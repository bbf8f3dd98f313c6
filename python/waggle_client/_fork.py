"""Clients in a forked process: their threads and connections stay behind in the old process.

Without this, clients in the new process would wait for ever, or for a lock that no thread there will release.
"""

import os
import weakref

from waggle_client import errors

_watched = weakref.WeakSet()
_closed_before = weakref.WeakSet()
_grpc_can = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "0").lower() in ("1", "true", "yes")  # gRPC reads it once.
_grpc_broken = False
# Objects of the old process's connections, never destroyed: their destructors might wait for the old process's threads.
left_behind = []


def close_before(thing) -> None:
    """Has `thing.close()` called before every fork; for things that are open only to be faster."""
    _closed_before.add(thing)


def watch(thing) -> None:
    """Has `thing.forked()` called in every process that is forked from here; it returns whether it was in use."""
    _watched.add(thing)


def _before():
    for thing in list(_closed_before):
        thing.close()


def _forked():
    global _grpc_broken
    in_use, failure = False, None
    for thing in list(_watched):
        try:
            in_use = thing.forked() or in_use
        except Exception as error:  # The other things must be told all the same.
            in_use, failure = True, error
    # gRPC in the new process waits for a thread of the old one, and takes events away from that one.
    _grpc_broken = _grpc_broken or (in_use and not _grpc_can)
    if failure is not None:
        raise failure  # Python prints it, and goes on.


def check() -> None:
    """FailedPrecondition if no connection of this process could work."""
    if _grpc_broken:
        raise errors.FailedPrecondition(
            "this process was forked while a writer or sampler was open or an updater was sending, and gRPC would hang "
            'in both processes: fork before they are made, start processes by "spawn", or set '
            "GRPC_ENABLE_FORK_SUPPORT=1 before grpc is imported"
        )


def message(what) -> str:
    return (
        f"{what}: was made before process {os.getpid()} was forked, and stayed behind in the one before: make a client "
        "of its own in each process, after the fork"
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_forked)
