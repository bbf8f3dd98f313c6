"""A wall clock that jumps, by libfaketime."""

import glob

from chaos_context import PATIENCE, Skipped

LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/*/faketime/libfaketime.so.1")


def library():
    """The path of libfaketime; None if it is not installed."""
    return next((found for pattern in LIBRARIES for found in sorted(glob.glob(pattern))), None)


def clock_step(chaos, target, seconds, rng):
    """The wall clock of the target jumps by up to an hour, forwards and backwards. Its monotonic clock does not."""
    if library() is None:
        raise Skipped("libfaketime is not installed: apt-get install faketime")
    process = chaos.pool[target]
    steps = chaos.pool.folder / f"clock-{target}-{process.lives}"
    steps.write_text("+0\n")
    _restart(process, {"LD_PRELOAD": library(), "FAKETIME_TIMESTAMP_FILE": str(steps), "FAKETIME_CACHE_DURATION": "1",
                       "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"})
    for _ in range(3):
        chaos.wait(seconds / 3)
        steps.write_text(f"{rng.randint(-3600, 3600):+d}\n")
    _restart(process, {})
    chaos.await_service(target)


def _restart(process, environment):
    lives = process.lives
    process.hold()
    process.kill("to change its clock")
    process.await_end(PATIENCE)
    process.forget_expectations()
    process.release(environment)
    process.await_life(lives, PATIENCE)
