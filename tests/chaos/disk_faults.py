"""Faults of disks and files."""

import os
import time

import grpc

import process_faults
import wire
from chaos_context import PATIENCE, Skipped


def _volume(chaos, target, able, what):
    volume = chaos.pool.volumes[target]
    if not getattr(volume, able):
        raise Skipped(f"{what} needs a file system of its own, which only root, or a user with namespaces, can mount; "
                      f"{target} has a {volume.kind}")
    return volume


class _HubUnsaved:
    """with …: the hub's files may not be written meanwhile."""

    def __init__(self, chaos, target):
        self._chaos, self._is_hub = chaos, target == "hub"

    def __enter__(self):
        self._since = time.monotonic()

    def __exit__(self, *_):
        if self._is_hub:
            self._chaos.unsaved.append((self._since, time.monotonic() + 6))  # It tries again every few seconds.


def full_disk(chaos, target, seconds, rng):
    """The disk is full for a while."""
    volume = _volume(chaos, target, "can_be_full", "a full disk")
    # It may have to start meanwhile, and then refuses.
    end_of_excuse = chaos.pool[target].excuse("full disk")
    try:
        with _HubUnsaved(chaos, target):
            volume.fill(leave=rng.choice((0, 0, 4096, 200_000)))
            chaos.wait(seconds)
            volume.free()
        if target != "hub":
            _make_checkpoint(chaos, target)
    finally:
        volume.free()
        end_of_excuse()


def _make_checkpoint(chaos, target):
    """A checkpoint must be possible; it is tried until the server is there."""
    end = time.monotonic() + PATIENCE
    error = None
    with wire.channel(chaos.pool.address[target]) as channel:
        checkpoint = chaos.messages.stub(channel, "ReplayService/Checkpoint")
        while time.monotonic() < end:
            try:
                return checkpoint(chaos.messages.message("CheckpointRequest")(), timeout=60).number
            except grpc.RpcError as failed:
                error = failed
                time.sleep(0.5)
    chaos.violation(f"{target} makes no checkpoint within {PATIENCE:g} s: {error.details()}")
    return None


def full_disk_in_checkpoint(chaos, target, seconds, _rng):
    """The disk is full while a replay server makes checkpoints; later it makes one again."""
    volume = _volume(chaos, target, "can_be_full", "a full disk")
    end_of_excuse = chaos.pool[target].excuse("full disk")
    try:
        volume.fill()
        end = time.monotonic() + seconds
        with wire.channel(chaos.pool.address[target]) as channel:
            checkpoint = chaos.messages.stub(channel, "ReplayService/Checkpoint")
            while time.monotonic() < end:
                try:
                    checkpoint(chaos.messages.message("CheckpointRequest")(), timeout=max(1, end - time.monotonic()))
                except grpc.RpcError:
                    pass
                time.sleep(0.5)
        volume.free()
        _make_checkpoint(chaos, target)
    finally:
        volume.free()
        end_of_excuse()


def slow_disk(chaos, target, seconds, _rng):
    """Every write waits."""
    volume = _volume(chaos, target, "can_stand_still", "a disk that stands still")
    with _HubUnsaved(chaos, target):
        if not volume.freeze():
            raise Skipped("fsfreeze fails")
        try:
            chaos.wait(seconds)
        finally:
            volume.thaw()


def power_cut(chaos, target, _seconds, _rng):
    """The server dies with everything that it has not synced."""
    volume = _volume(chaos, target, "can_lose_power", "a power cut")
    process = chaos.pool[target]
    process.hold()
    end_of_excuse = process.excuse("power cut")
    try:
        with _HubUnsaved(chaos, target):
            volume.lose_power()
            process.kill("power cut")
            process.await_end(PATIENCE)
            volume.restore_power()
        if target != "hub":
            chaos.lossy(target, ["log"], "power cut")
    finally:
        end_of_excuse()
        process.forget_expectations()
        process.release()
    chaos.await_service(target)


def read_only(chaos, target, _seconds, _rng):
    """The data folder is read-only when the server starts: it must end with an error."""
    volume = _volume(chaos, target, "can_be_read_only", "a read-only folder")
    process = chaos.pool[target]
    process.hold()
    try:
        process.kill("to make its folder read-only")
        process.await_end(PATIENCE)
        process.forget_expectations()
        if not volume.remount(read_only=True):
            raise Skipped("the folder cannot be made read-only")
        process_faults.run_to_failure(chaos, target, process.command, "a server with a read-only folder")
    finally:
        volume.remount(read_only=False)
        process.release()
    chaos.await_service(target)


def _newest(folder, pattern):
    files = sorted((file.stat().st_mtime, file) for file in folder.glob(pattern) if file.stat().st_size > 0)
    return files[-1][1] if files else None


def _damage_log(chaos, target, damage):
    """Stops the replay server, damages the newest log of its database, and starts it: it must serve."""
    if _make_checkpoint(chaos, target) is None:
        return
    chaos.wait(0.5)  # For something behind the checkpoint.
    process = chaos.pool[target]
    process.hold()
    try:
        process.kill("to damage its files")
        process.await_end(PATIENCE)
        process.forget_expectations()
        file = _newest(chaos.pool.data(target) / "db", "*.log")
        if file is None:
            raise Skipped("there is no log yet")
        damage(file)
        chaos.lossy(target, ["log", "sync"], "damaged log")
    finally:
        process.release()
    chaos.await_service(target)


def truncate_log(chaos, target, _seconds, rng):
    """The end of the newest log is missing."""

    def damage(file):
        size = file.stat().st_size
        os.truncate(file, max(0, size - int(10 ** rng.uniform(0, 4))))

    _damage_log(chaos, target, damage)


def flip_bit(path, rng):
    with open(path, "r+b") as file:
        position = rng.randrange(os.fstat(file.fileno()).st_size)
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))


def flip_log(chaos, target, _seconds, rng):
    """A bit of the newest log is another one."""
    _damage_log(chaos, target, lambda file: flip_bit(file, rng))


def damage_learner_checkpoint(chaos, _target, _seconds, rng):
    """A bit of a learner's newest checkpoint is another one, or its end is missing, and the learner dies. The one before
    takes its place. Of the experiment with the newest checkpoint."""
    folders = sorted((chaos.pool.folder / "output").glob("*/checkpoints"), key=lambda folder: folder.stat().st_mtime)
    if not folders:
        raise Skipped("there is no checkpoint yet")
    workers = chaos.pool.names("learner", "gradient")
    for name in workers:
        chaos.pool[name].hold()
        chaos.pool[name].kill("to damage a checkpoint")
    try:
        for name in workers:
            chaos.pool[name].await_end(PATIENCE)
            chaos.pool[name].forget_expectations()
        checkpoints = sorted(folders[-1].glob("step-*"), key=lambda folder: folder.stat().st_mtime)
        if len(checkpoints) < 2:  # If all are damaged the experiment fails, as it should.
            raise Skipped("there is only one checkpoint")
        file = rng.choice(sorted(file for file in checkpoints[-1].rglob("*") if file.is_file() and file.stat().st_size))
        if rng.random() < 0.5:
            flip_bit(file, rng)
        else:
            os.truncate(file, rng.randrange(file.stat().st_size))
        return f"{file.parent.name}/{file.name} of {folders[-1].parent.name}"
    finally:
        for name in workers:
            chaos.pool[name].release()
