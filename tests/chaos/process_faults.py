"""Faults of processes: they are killed, stopped, ended, started twice, or find no memory."""

import pathlib
import resource
import signal
import subprocess
import time

import free_ports
from chaos_context import PATIENCE, Skipped

COMMIT_POINTS = ("writer.taken_in", "journal.before_commit", "journal.after_commit")
FILE_POINTS = ("file.create", "file.write", "file.sync", "file.rename", "folder.create", "folder.sync", "file.remove")


def kill(chaos, target, _seconds, _rng):
    """kill -9."""
    if not chaos.pool[target].kill("kill"):
        raise Skipped(f"{target} does not live just now")
    chaos.pool[target].await_end(PATIENCE)


def kill_half_of_the_actors(chaos, _target, seconds, rng):
    """kill -9 of half of the actors, over and over."""
    end = time.monotonic() + seconds
    names = chaos.pool.names("actor")
    while time.monotonic() < end:
        for name in rng.sample(names, (len(names) + 1) // 2):
            chaos.pool[name].kill("crash loop")
        chaos.wait(rng.uniform(0.5, 2))


def _has_failpoints(chaos, process, points):
    program = process.command[process.command.index("--") + 1] if "--" in process.command else process.command[0]
    with open(program, "rb") as file:
        if points[0].encode() not in file.read():
            raise Skipped("the executables have no failpoints: build with -DWAGGLE_FAILPOINTS=ON, as ./dev build does")


def _live_with(chaos, target, failpoints, seconds, ends=(-signal.SIGKILL,)):
    """Starts the target anew with these failpoints, for a while. The failpoints may end the target with one of the
    statuses `ends`. Returns the target's ending; None if no failpoint has ended it."""
    process = chaos.pool[target]
    process.hold()
    process.kill("to start it with failpoints")
    process.await_end(PATIENCE)
    process.forget_expectations()
    lives = process.lives
    process.expect(ends, f"failpoint {failpoints}")
    process.release({"WAGGLE_FAILPOINTS": failpoints})
    if not process.await_life(lives, PATIENCE):
        raise Skipped(f"{target} was not started")
    process.hold()
    ended = process.await_end(seconds)
    if ended is None:
        process.signal(signal.SIGKILL)
        process.await_end(PATIENCE)
    process.forget_expectations()
    process.release()
    return ended


def kill_at_commit(chaos, target, seconds, rng):
    """The replay server dies before or after a commit."""
    _has_failpoints(chaos, chaos.pool[target], COMMIT_POINTS)
    _live_with(chaos, target, f"{rng.choice(COMMIT_POINTS)}=abort@{rng.randint(1, 60)}", seconds)


def kill_before_ack(chaos, target, seconds, rng):
    """The replay server dies after a commit, before its answers."""
    _has_failpoints(chaos, chaos.pool[target], ("journal.before_ack",))
    _live_with(chaos, target, f"journal.before_ack=abort@{rng.randint(1, 60)}", seconds)


def kill_in_recovery(chaos, target, seconds, _rng):
    """The replay server dies while it reads its folder."""
    _has_failpoints(chaos, chaos.pool[target], ("restore.middle",))
    _live_with(chaos, target, "restore.middle=abort@1", seconds)


def kill_at_file(chaos, target, seconds, rng):
    """A learner, a gradient worker or the hub dies while it writes a file, such as a checkpoint."""
    _has_failpoints(chaos, chaos.pool[target], FILE_POINTS)
    _live_with(chaos, target, f"{rng.choice(FILE_POINTS)}=abort@{rng.randint(1, 8)}", seconds)


def file_errors(chaos, target, seconds, rng):
    """Writing, syncing or renaming a file fails a few times."""
    _has_failpoints(chaos, chaos.pool[target], FILE_POINTS)
    points = ";".join(f"{rng.choice(FILE_POINTS[:4])}=error(a failpoint)@{rng.randint(1, 12)}" for _ in range(2))
    since = time.monotonic()
    ended = _live_with(chaos, target, points, seconds, ends=(-signal.SIGKILL, 1))
    # It cannot start without its first files, but goes on without others.
    if ended is not None and ended.status == 1 and "serving at" in ended.log.read_text(errors="replace"):
        chaos.violation(f"{target} gave up because a file could not be written: {ended.log.name}")
    if target == "hub":
        chaos.unsaved.append((since, time.monotonic()))


def commit_errors(chaos, target, seconds, rng):
    """The replay server's disk refuses every commit for a while: nothing may be acknowledged, or the restart loses it."""
    _has_failpoints(chaos, chaos.pool[target], COMMIT_POINTS)
    at = f"@{rng.randint(1, 40)}" if rng.random() < 0.5 else ""
    _live_with(chaos, target, f"journal.before_commit=error(a failpoint){at}", seconds)


def pause(chaos, target, seconds, _rng):
    """SIGSTOP, later SIGCONT."""
    process = chaos.pool[target]
    if not process.signal(signal.SIGSTOP):
        raise Skipped(f"{target} does not live just now")
    chaos.wait(seconds)
    process.signal(signal.SIGCONT)


def terminate(chaos, target, _seconds, _rng):
    """SIGTERM. The status must be 0."""
    process = chaos.pool[target]
    process.expect((0,), "SIGTERM")
    since = time.monotonic()
    if not process.signal(signal.SIGTERM):
        process.forget_expectations()
        raise Skipped(f"{target} does not live just now")
    if process.await_end(PATIENCE) is None:
        chaos.violation(f"{target} does not end within {PATIENCE:g} s of SIGTERM")
        process.kill("did not end")
    took = time.monotonic() - since
    return f"ended in {took:.1f} s" if took > 10 else None


def no_memory(chaos, target, seconds, rng):
    """The process finds no memory: RLIMIT_AS. It aborts, or goes on."""
    process = chaos.pool[target]
    if not chaos.await_service(target):  # A process that starts with so little says so, and ends.
        return
    pid = process.pid
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, IndexError):
        raise Skipped(f"{target} does not live just now") from None
    process.expect((-signal.SIGABRT, -signal.SIGKILL), "no memory")
    resource.prlimit(pid, resource.RLIMIT_AS, (used + rng.randint(0, 16 << 20), resource.RLIM_INFINITY))
    if process.await_end(seconds) is None:
        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ProcessLookupError:
            pass
        process.await_end(1)
        process.forget_expectations()


def second_process(chaos, target, _seconds, rng):
    """Another process with the same data folder, or also at the same port: it must end with an error."""
    process = chaos.pool[target]
    command = list(process.command)
    if rng.random() < 0.7:
        command[command.index("--listen") + 1] = f"127.0.0.1:{free_ports.take()}"
    lives = process.lives
    if not chaos.await_service(target):
        return
    run_to_failure(chaos, target, command, "a second process with its folder",
                   still=lambda: process.alive and process.lives == lives)


def run_to_failure(chaos, target, command, what, still=lambda: True):
    """Starts a process that must end with an error. The result counts only if `still()` holds at its end."""
    log = chaos.pool.folder / "logs" / f"{target}.{time.monotonic():.0f}.refused.log"
    with open(log, "wb") as file:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file) as process:
            try:
                status = process.wait(60)
            except subprocess.TimeoutExpired:
                status = None
                process.kill()
    said = log.read_text(errors="replace").strip().splitlines()
    if not still():
        return
    if status is None or status <= 0:
        how = "does not end" if status is None else f"ends with status {status}"
        chaos.violation(f"{target}: {what} {how}; wanted an error: {said[-1:]}")
    elif not said:
        chaos.violation(f"{target}: {what} ends with status {status} without a word")


def restart_all(chaos, _target, _seconds, rng, meanwhile=lambda: None):
    """All processes die at once, and are started in a random order."""
    names = chaos.pool.names()
    for name in names:
        chaos.pool[name].hold()
    for name in names:
        chaos.pool[name].kill("restart of all")
    for name in names:
        chaos.pool[name].await_end(PATIENCE)
        chaos.pool[name].forget_expectations()
    meanwhile()
    for name in rng.sample(names, len(names)):
        chaos.pool[name].release()
        chaos.wait(rng.choice((0, 0, 0.2, 1.0)))


def return_to_cuts(chaos, target, seconds, rng):
    """All processes die at once. Experiments with cuts go back to the newest ones, and the client's tables do not."""
    order = pathlib.Path(chaos.pool.data("hub")) / "return_to_cuts"
    try:
        restart_all(chaos, target, seconds, rng, order.touch)
    except OSError as error:  # Its disk is full, say.
        for name in chaos.pool.names():
            chaos.pool[name].release()
        raise Skipped(f"{order}: {error}") from None
    end = time.monotonic() + PATIENCE
    while order.exists():
        if time.monotonic() > end:
            chaos.violation(f"the hub has not taken {order} within {PATIENCE:g} s")
            return
        chaos.wait(0.2)
