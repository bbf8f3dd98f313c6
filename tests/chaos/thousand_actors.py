#!/usr/bin/env python3
"""Simulated actors in one experiment of one hub: how long its status takes meanwhile.

usage: thousand_actors.py [--actors 1000] [--seconds 60] [--bin DIR]

Prints the median and the 99th percentile of an Overview, which another process asks for, and of `waggle status ID`. Exits
with 1 if not all actors join.
"""

import argparse
import asyncio
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import grpc

import free_ports
import staged
import wire
from simulated_workers import SimulatedWorker, connections

PATIENCE = 300
EXPERIMENT = """
experiment: {{name: large}}
environment: {{name: CartPole-v1}}
algorithm: {{name: apex_dqn}}
actor: {{processes: {{min: 1, max: {actors}}}}}
stop: {{max_seconds: 100000}}
"""


def live_as_workers(stage, address, actors, version, joined, stop):
    """A process with all the workers; `joined` has the number of those that have joined."""

    async def run():
        messages = wire.Wire(stage)
        channels = connections(address, actors)
        workers = [SimulatedWorker(messages, channels[0], kind, role, 0, version)
                   for kind, role in (("LEARNER", "LEARNER"), ("REPLAY_SERVER", "REPLAY_SERVER"))]
        workers += [SimulatedWorker(messages, channels[i % len(channels)], "ACTOR", "ACTOR", i, version)
                    for i in range(actors)]
        tasks = [asyncio.ensure_future(worker.run()) for worker in workers]
        while not stop.is_set():
            joined.value = sum(worker.joined for worker in workers)
            await asyncio.sleep(0.2)
        for refusal in {worker.refusal for worker in workers if not worker.joined}:
            print(f"a worker has not joined: {refusal or 'it has no order'}", flush=True)
        for task in tasks:
            task.cancel()

    asyncio.run(run())


def waits(ask, seconds):
    """The milliseconds of each answer."""
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        ask()
        found.append(1e3 * (time.monotonic() - start))
        time.sleep(0.02)
    return found


def tell(what, milliseconds):
    ordered = sorted(milliseconds)
    print(f"{what}: {len(ordered)} answers, median {statistics.median(ordered):.0f} ms, "
          f"99th percentile {ordered[len(ordered) * 99 // 100]:.0f} ms, longest {ordered[-1]:.0f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bin", type=pathlib.Path, default=staged.ROOT / "build" / "release" / "bin")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")  # A process with gRPC must not fork.
    with tempfile.TemporaryDirectory(prefix="waggle-actors-") as folder:
        stage = staged.stage(pathlib.Path(folder) / "stage")
        address = f"127.0.0.1:{free_ports.take()}"
        with open(f"{folder}/hub.log", "wb") as log:
            hub = subprocess.Popen([arguments.bin / "waggle-param-server", "--listen", address, "--data-dir",
                                    f"{folder}/hub", "--no-plot", "--log-level", "warning"], stdout=log, stderr=log)
        joined, stop = context.Value("i", 0), context.Event()
        status = 1
        try:
            status = measure(arguments, stage, address, context, joined, stop)
            return status
        finally:
            stop.set()
            for process in multiprocessing.active_children():
                process.join(20)
            hub.terminate()
            hub.wait(60)
            if status != 0:
                print(pathlib.Path(folder, "hub.log").read_text(errors="replace")[-2000:], end="")


def measure(arguments, stage, address, context, joined, stop):
    messages = wire.Wire(stage)
    channel = wire.channel(address)
    grpc.channel_ready_future(channel).result(PATIENCE)
    pool = messages.stub(channel, "ExperimentService/Pool")
    version = pool(messages.message("PoolRequest")()).software_version
    context.Process(target=live_as_workers, daemon=True,
                    args=(stage, address, arguments.actors, version, joined, stop)).start()
    text = EXPERIMENT.format(actors=arguments.actors)
    submit = messages.stub(channel, "ExperimentService/Submit")
    experiment = submit(messages.message("SubmitRequest")(submitted_yaml=text, effective_yaml=text), timeout=PATIENCE).id
    start = time.monotonic()
    while joined.value < arguments.actors + 2:
        if time.monotonic() - start > PATIENCE:
            print(f"{joined.value} of {arguments.actors + 2} workers have joined within {PATIENCE} s")
            return 1
        time.sleep(0.2)
    print(f"{arguments.actors} actors joined in {time.monotonic() - start:.1f} s", flush=True)
    overview = messages.stub(channel, "WorkerService/Overview")
    request = messages.message("OverviewRequest")(experiment_id=experiment)
    tell("Overview", waits(lambda: overview(request, timeout=PATIENCE), arguments.seconds / 2))
    living = sum(worker.alive for worker in overview(request, timeout=PATIENCE).workers)
    tell("waggle status", waits(lambda: subprocess.run([arguments.bin / "waggle", "status", experiment, "--param-server", address],
                                                       check=True, stdout=subprocess.DEVNULL), arguments.seconds / 2))
    print(f"{living} living workers in the last Overview, {joined.value} joined")
    return 0 if living >= arguments.actors else 1


if __name__ == "__main__":
    sys.exit(main())
