#!/usr/bin/env python3
"""A server of dm_env_rpc made with the package dm-env-rpc, for Waggle's client to step: a paddle on a line.

usage: python_server.py PORT

Prints the port that it listens on, which is a free one for 0. An episode ends when the paddle is three places from where
it began, and is interrupted after ten steps.
"""

import sys
from concurrent import futures

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc as services
from dm_env_rpc.v1 import spec_manager, tensor_spec_utils, tensor_utils

EDGE = 3
LONGEST = 10


def spec(name, dtype, shape=(), low=None, high=None):
    made = messages.TensorSpec(name=name, dtype=tensor_utils.np_type_to_data_type(dtype), shape=shape)
    if low is not None:
        tensor_spec_utils.set_bounds(made, low, high)
    return made


ACTIONS = {1: spec("paddle", np.int8, (), -1, 1), 2: spec("turn", np.float64, (2,), -2.0, 0.1)}
OBSERVATIONS = {
    10: spec("board", np.uint8, (2, 7), 0, 255),
    11: spec("place.now", np.float64),
    12: spec("steps", np.uint64),
    13: spec("at_edge", np.bool_),
    14: spec("words", np.str_, (-1,)),
    15: spec("reward", np.float32),
}


class Line:
    """One client's world."""

    def __init__(self, settings):
        if set(settings) - {"seed"} != {"level"} or tensor_utils.unpack_tensor(settings["level"]) != "line":
            raise ValueError(f'settings: got {sorted(settings)}; wanted level: "line"')
        self._running = False
        self._place = self._steps = 0
        self._reward = 0.0
        self._actions = spec_manager.SpecManager(ACTIONS)
        self._observations = spec_manager.SpecManager(OBSERVATIONS)

    def reset(self):
        self._running = False

    def step(self, request):
        state = messages.EnvironmentStateType.RUNNING
        if not self._running:
            self._running = True
            self._place = self._steps = 0
            self._reward = 0.0
        else:
            actions = self._actions.unpack(request.actions)
            for action, value in actions.items():
                bounds = tensor_spec_utils.bounds(self._actions.name_to_spec(action))
                if np.any(value < bounds.min) or np.any(value > bounds.max):
                    raise ValueError(f"{action}: got {value}")
            self._place += int(actions["paddle"])
            self._steps += 1
            self._reward = float(np.sum(actions["turn"]))
            if abs(self._place) >= EDGE:
                state = messages.EnvironmentStateType.TERMINATED
            elif self._steps >= LONGEST:
                state = messages.EnvironmentStateType.INTERRUPTED
            self._running = state == messages.EnvironmentStateType.RUNNING
        board = np.zeros((2, 7), np.uint8)
        board[:, self._place + EDGE] = 255
        shown = self._observations.pack(
            {
                "board": board,
                "place.now": float(self._place),
                "steps": self._steps,
                "at_edge": abs(self._place) >= EDGE,
                "words": ["left", "right"],
                "reward": self._reward,
            }
        )
        wanted = {uid: shown[uid] for uid in request.requested_observations}
        return messages.StepResponse(state=state, observations=wanted)


class Servicer(services.EnvironmentServicer):
    def Process(self, requests, context):
        settings = line = None
        specs = messages.ActionObservationSpecs(actions=ACTIONS, observations=OBSERVATIONS)
        for request in requests:
            response = messages.EnvironmentResponse()
            kind = request.WhichOneof("payload")
            try:
                if kind == "create_world":
                    settings = request.create_world.settings
                    Line(settings)
                    response.create_world.world_name = "line"
                elif kind == "join_world":
                    line = Line(settings)
                    response.join_world.specs.CopyFrom(specs)
                elif kind == "step":
                    response.step.CopyFrom(line.step(request.step))
                elif kind == "reset":
                    line.reset()
                    response.reset.specs.CopyFrom(specs)
                else:
                    getattr(response, kind).SetInParent()
            except Exception as error:  # As the protocol's own examples do.
                response.error.code = grpc.StatusCode.INTERNAL.value[0]
                response.error.message = str(error)
            yield response


def main():
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    services.add_EnvironmentServicer_to_server(Servicer(), server)
    port = server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    print(f"port {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
