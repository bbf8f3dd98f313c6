"""Workers that take part in the pool and in experiments, and do nothing: the protocol of proto/waggle/v1 by asyncio."""

import asyncio
import random
import time

import grpc

import wire

FIGURES = 30  # As many as an actor has.
STREAMS_OF_A_CONNECTION = 200  # A server takes 1,024 at a time; a worker has three.


class SimulatedWorker:
    """One process of the pool, as it looks to the hub. `kind` and `role` are names such as "ACTOR"."""

    def __init__(self, messages, channel, kind, role, number, version):
        self._messages = messages
        self._kind, self._role, self._number = kind, role, number
        self._version = version
        self._held = {}  # Of the present orders, their tasks by number.
        self.joined = False
        self.assignments = 0
        self.refusal = ""  # The last error of a call.
        self.worker_id = f"simulated-{kind.lower()}-{number}-{random.getrandbits(48):012x}"
        self._attend, self._join, self._watch, self._heartbeat = (
            messages.stub(channel, path) for path in
            ("PoolService/Attend", "WorkerService/Join", "WorkerService/Watch", "WorkerService/Heartbeat"))

    def _introduction(self):
        request = self._messages.message("AttendRequest")(
            worker_id=self.worker_id, kind=self._messages.enum("WorkerKind")[f"WORKER_KIND_{self._kind}"], process_id=1,
            host="simulated", software_version=self._version, capacity=1)
        if self._kind != "ACTOR":
            request.address = "127.0.0.1:1"
        request.resources.cores = 1
        request.resources.memory_bytes = 1 << 30
        request.resources.environments.append("CartPole-v1")
        return request

    async def run(self):
        while True:
            request = self._introduction()
            for order, _ in self._held.values():
                request.held.add().order.CopyFrom(order)
            try:
                answer = await self._attend(request, timeout=20)
            except grpc.RpcError as error:
                self.refusal = f"{error.code().name}: {error.details()}"
                await asyncio.sleep(random.uniform(0.2, 1))
                continue
            wanted = {order.number: order for order in answer.orders}
            for number in [number for number in self._held if number not in wanted]:
                self._held.pop(number)[1].cancel()
            for number, order in wanted.items():
                if number not in self._held:
                    self._held[number] = (order, asyncio.ensure_future(self._work(order)))

    async def _work(self, order):
        run_id = f"{self.worker_id}-{order.number}"
        facts = {"worker_id": run_id, "experiment_id": order.experiment_id}
        while True:
            try:
                join = self._messages.message("JoinRequest")(address="" if self._kind == "ACTOR" else "127.0.0.1:1", **facts)
                joined = await self._join(join, timeout=20)
                self.joined = True
                await self._live(facts, joined.heartbeat_interval_ms / 1e3)
            except grpc.RpcError as error:
                self.joined = False
                self.refusal = f"{error.code().name}: {error.details()}"
                await asyncio.sleep(random.uniform(0.2, 1))

    async def _live(self, facts, interval):
        watching = asyncio.ensure_future(self._see(facts))
        try:
            counted = 0
            while True:
                beat = self._messages.message("HeartbeatRequest")(taken_at_us=int(time.monotonic() * 1e6),
                                                                  activity="acting", **facts)
                counted += 1
                for i in range(FIGURES // 2):
                    beat.counters[f"simulated_{i}"] = counted
                    beat.gauges[f"simulated_gauge_{i}"] = random.random()
                await self._heartbeat(beat, timeout=20)
                await asyncio.sleep(interval or 1)
        finally:
            watching.cancel()

    async def _see(self, facts):
        try:
            async for _ in self._watch(self._messages.message("WatchWorkerRequest")(**facts)):
                self.assignments += 1
        except grpc.RpcError:
            pass  # The next heartbeat tells.


def connections(address, workers):
    count = max(1, -(-workers // STREAMS_OF_A_CONNECTION))
    return [grpc.aio.insecure_channel(address, options=wire.OPTIONS) for _ in range(count)]
