"""All faults of a chaos run, and the tests that have the faults that it leaves out."""

from dataclasses import dataclass
from typing import Callable

import disk_faults as disk
import input_faults as wrong
import network_faults as network
import process_faults as process
import time_faults

SERVERS = ("hub", "replay")
EACH = ("hub", "replay", "learner", "actor", "evaluator", "gradient")
REPLAY = ("replay",)

# What the checker requires of each run, by the names that the table uses.
INVARIANTS = {
    "items": "Each acknowledged item is in its table exactly once, with the right rows, or left by the table's rule. "
             "No refused item is there, and no item whose deletion was answered.",
    "counts": "Epochs of learners never go back, nor the weights' version within an epoch. Steps and states never go "
              "back, except behind a hub that died, by what it had not written for 12 seconds.",
    "cuts": "Steps are never behind the newest cut of their experiment, and no cut is lost.",
    "gradients": "Pushed gradients are applied, refused or unanswered, and no other.",
    "ends": "No process ends by itself, and SIGTERM ends each with status 0.",
    "refusal": "The request, or the process, is refused with an error, and nothing changes.",
    "service": "The server answers meanwhile, or again afterwards, and its open files are as many as before.",
    "progress": "After the last fault each experiment goes on to its goal, all items are acknowledged, and no "
                "experiment fails.",
}
_ALWAYS = ("items", "counts", "cuts", "gradients", "ends", "progress")


@dataclass(frozen=True)
class Fault:
    """`run(chaos, target, seconds, rng)` makes the fault and heals it. `targets`: kinds of processes; "ways": proxies;
    empty: the whole pool. `checked_by`: the invariants that it is about; all others are checked as well."""

    number: str
    name: str
    run: Callable
    targets: tuple
    seconds: tuple = (1.0, 5.0)
    checked_by: tuple = _ALWAYS
    weight: float = 1.0


FAULTS = (
    Fault("F1", "kill-replay", process.kill, REPLAY, checked_by=("items", "progress"), weight=2),
    Fault("F2", "kill-at-commit", process.kill_at_commit, REPLAY, (3, 10), ("items",)),
    Fault("F3", "kill-before-ack", process.kill_before_ack, REPLAY, (3, 10), ("items",)),
    Fault("F4", "kill-in-recovery", process.kill_in_recovery, REPLAY, (3, 10), ("items",)),
    Fault("F5", "kill-learner", process.kill, ("learner", "gradient"), checked_by=("counts", "gradients"), weight=2),
    Fault("F6", "kill-at-file", process.kill_at_file, ("hub", "learner", "gradient"), (4, 15), ("counts", "progress")),
    Fault("F7", "kill-hub", process.kill, ("hub",), checked_by=("counts", "progress"), weight=2),
    Fault("F8", "kill-actors", process.kill_half_of_the_actors, (), (2, 8), ("progress",)),
    Fault("F8", "kill-evaluator", process.kill, ("evaluator",), checked_by=("progress",), weight=0.5),
    Fault("F9", "pause", process.pause, EACH, (1, 12), ("items", "counts"), 2),
    Fault("F10", "pause-learner", process.pause, ("learner", "gradient"), (9, 16), ("counts",)),
    Fault("F11", "terminate", process.terminate, EACH, checked_by=("ends", "items", "counts"), weight=2),
    Fault("F12", "no-memory", process.no_memory, REPLAY, (2, 8), ("items", "ends")),
    Fault("F13", "second-process", process.second_process, SERVERS, checked_by=("refusal", "items")),
    Fault("F14", "cut", network.cut, ("ways",), (1, 20), weight=2),
    Fault("F14", "refuse", network.refuse, ("ways",), (1, 10)),
    Fault("F15", "half-open", network.half_open, ("ways",), (1, 20), ("items", "gradients"), 2),
    Fault("F16", "reset", network.reset_mid_message, ("ways",), (2, 10), ("items", "gradients"), 2),
    Fault("F17", "latency", network.latency, ("ways",), (2, 12), ("progress", "ends")),
    Fault("F18", "bandwidth", network.bandwidth, ("ways",), (2, 12), ("progress",)),
    Fault("F19", "slow-consumer", network.slow_consumer, REPLAY, (3, 10), ("items", "progress")),
    Fault("F20", "idle-connections", network.idle_connections, SERVERS, (1, 5), ("service",)),
    Fault("F21", "connection-churn", network.connection_churn, SERVERS, (1, 6), ("service",)),
    Fault("F21", "cancelled-streams", network.cancelled_streams, REPLAY, (1, 6), ("service",)),
    Fault("F24", "full-disk", disk.full_disk, SERVERS, (2, 8), ("items", "counts", "service"), 1.5),
    Fault("F25", "full-disk-in-checkpoint", disk.full_disk_in_checkpoint, REPLAY, (2, 8), ("items", "service")),
    Fault("F26", "commit-errors", process.commit_errors, REPLAY, (3, 8), ("items",)),
    Fault("F26", "file-errors", process.file_errors, ("hub", "learner", "gradient"), (4, 12), ("counts", "progress")),
    Fault("F27", "power-cut", disk.power_cut, SERVERS, checked_by=("items", "counts"), weight=1.5),
    Fault("F28", "truncated-log", disk.truncate_log, REPLAY, checked_by=("items", "service")),
    Fault("F29", "flipped-bit", disk.flip_log, REPLAY, checked_by=("items", "service")),
    Fault("F30", "damaged-checkpoint", disk.damage_learner_checkpoint, (), checked_by=("counts", "progress")),
    Fault("F31", "slow-disk", disk.slow_disk, SERVERS, (0.5, 6), ("items", "progress"), 1.5),
    Fault("F32", "read-only-folder", disk.read_only, SERVERS, checked_by=("refusal",)),
    Fault("F33", "repeated-blocks", wrong.repeated_blocks, REPLAY, checked_by=("refusal",)),
    Fault("F34", "malformed-bytes", wrong.malformed_bytes, REPLAY, (1, 3), ("refusal",)),
    Fault("F34", "malformed-at-hub", wrong.malformed_at_hub, ("hub",), checked_by=("service",)),
    Fault("F35", "wrong-shapes", wrong.wrong_shapes, REPLAY, checked_by=("refusal",)),
    Fault("F36", "oversize", wrong.oversize, REPLAY, checked_by=("refusal",)),
    Fault("F37", "not-a-number", wrong.not_a_number, REPLAY, checked_by=("refusal",)),
    Fault("F40", "clock-step", time_faults.clock_step, SERVERS, (3, 9), ("items", "counts")),
    Fault("F41", "restart-all", process.restart_all, (), checked_by=_ALWAYS),
    Fault("F41", "return-to-cuts", process.return_to_cuts, (), checked_by=_ALWAYS),
)


@dataclass(frozen=True)
class Elsewhere:
    """A fault, or a part of one, that another test of the repository has; `test` is empty if none does."""

    number: str
    what: str
    file: str = ""
    test: str = ""


ELSEWHERE = (
    Elsewhere("F5", "a deterministic run ends normally though its processes are killed",
              "tests/e2e/faults_test.cc",
              "a deterministic run ends normally though each of its processes is killed in turn"),
    Elsewhere("F6", "the learner's checkpoint, at each change of its folder",
              "tests/common/rl/checkpoint/checkpoint_store_test.cc",
              "a process that is killed before any change leaves the previous or the new checkpoint whole"),
    Elsewhere("F22", "a name that resolves to another address later: no test by itself; a container that was cut off may "
              "come back with another address", "tests/deploy/deploy_test.py", "cut_off"),
    Elsewhere("F23", "GOAWAY by age: no server sets a maximal age of connections. SIGTERM ends them in the same way: "
              "terminate of F11"),
    Elsewhere("F27", "power cuts of replay servers, simulated in one process",
              "tests/replay_server/storage/journal_test.cc",
              "all that a table with log_sync has answered outlives a power cut"),
    Elsewhere("F29", "a damaged byte anywhere in a replay server's folder",
              "tests/replay_server/storage/data_folder_test.cc",
              "a folder with any damaged byte is restored as it was at some moment, or refused"),
    Elsewhere("F30", "newest checkpoints of replay servers", "tests/replay_server/storage/data_folder_test.cc",
              "the checkpoint before replaces a damaged newest checkpoint"),
    Elsewhere("F30", "a checkpoint of a newer format", "tests/common/rl/checkpoint/checkpoint_file_test.cc",
              "a checkpoint of a newer version is refused, not called damaged"),
    Elsewhere("F37", "NaN in gradients", "tests/param_server/gradients/gradient_primary_test.cc",
              "gradients whose sum is not finite are refused together and change nothing"),
    Elsewhere("F37", "NaN in a loss", "tests/common/rl/kit/update_context_test.cc",
              "nothing is stepped after a loss that is not finite"),
    Elsewhere("F38", "weights of a learner that was replaced are refused",
              "tests/param_server/services/model_service_test.cc",
              "Weights of a dismissed learner are refused, and those of its successor are not"),
    Elsewhere("F38", "gradients of old weights are refused", "tests/param_server/gradients/gradient_primary_test.cc",
              "a gradient above the bound on staleness is refused, or counts less"),
    Elsewhere("F39", "callers without a right, or with a certificate that is not valid", "tests/security/security_test.py",
              "test_2_callers_without_the_right_are_refused_in_one_sentence"),
)


def by_name(names):
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KeyError(f"there is no fault {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def listing():
    """Lines with all faults of the catalogue."""
    numbers = sorted({int(entry.number[1:]) for entry in (*FAULTS, *ELSEWHERE)})
    for number in (f"F{number}" for number in numbers):
        for fault in FAULTS:
            if fault.number == number:
                yield (f"{number:4} {fault.name:24} {' '.join(fault.targets) or 'pool':36} checked by "
                       f"{', '.join(fault.checked_by)}")
        for other in ELSEWHERE:
            if other.number == number:
                where = f"  [{other.file}{': ' + other.test if other.test else ''}]" if other.file else ""
                yield f"{number:4} {'-':24} {other.what}{where}"
