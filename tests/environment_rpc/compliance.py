#!/usr/bin/env python3
"""Puts `waggle serve-environment` through the compliance suites of the package dm-env-rpc. [e2e]

usage: compliance.py --waggle build/release/bin/waggle [unittest's arguments]

Exits with 77, which ctest takes for "skipped", where this Python lacks the package.
"""

import argparse
import subprocess
import sys
import unittest

SKIPPED = 77

try:
    import grpc
    import numpy as np
    from absl.testing import absltest
    from dm_env import test_utils
    from dm_env_rpc.v1 import connection as connections
    from dm_env_rpc.v1 import dm_env_adaptor
    from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
    from dm_env_rpc.v1 import error, tensor_spec_utils, tensor_utils
    from dm_env_rpc.v1.compliance import create_destroy_world, join_leave_world, reset, reset_world, step
    from dm_env_rpc.v1.extensions import properties
except ImportError as missing:
    print(
        f"SKIPPED: the dm_env_rpc server is NOT TESTED by others' suites: {sys.executable} lacks {missing.name}; "
        "./dev setup --python installs it",
        file=sys.stderr,
    )
    sys.exit(SKIPPED)

# Leaves of every kind and of several element types.
MANY_LEAVES = """{
  observations: [{name: observation/camera, dtype: uint8, shape: [2, 3], low: 0, high: 255},
                 {name: observation/joints, dtype: float64, shape: [4], low: -3.5, high: 3.5},
                 {name: observation/gear, kind: discrete, num_values: [4]},
                 {name: action_mask/move, kind: multi-binary, shape: [7]}],
  actions: [{name: action/move, kind: multi-discrete, num_values: [3, 4]},
            {name: action/turn, dtype: float32, shape: [2, 3], low: -2, high: 6},
            {name: action/lamps, kind: multi-binary, shape: [2]},
            {name: action/level, dtype: int16, shape: [], low: -300, high: 300}],
  rewards: [{shape: [2]}],
  max_episode_steps: 5
}"""

# Name, flags and the settings of a join.
SERVED = {
    "CartPole": ("CartPole-v1", [], {}),
    "CartPoleLanes": ("CartPole-v1", [], {"lanes": 3}),
    "Pendulum": ("Pendulum-v1", [], {}),
    "PendulumLanes": ("Pendulum-v1", [], {"lanes": 2, "seed": 5}),
    "ManyLeaves": ("Null-v1", ["--set", f"environment.spec={MANY_LEAVES}"], {}),
    "ManyLeavesLanes": ("Null-v1", ["--set", f"environment.spec={MANY_LEAVES}"], {"lanes": 3}),
}


class Server:
    """`waggle serve-environment`, for as long as the tests run."""

    def __init__(self, waggle, name, flags):
        self._process = subprocess.Popen(
            [waggle, "serve-environment", name, "--listen", "127.0.0.1:0", *flags], stdout=subprocess.PIPE, text=True
        )
        line = self._process.stdout.readline()
        if " at " not in line:
            raise RuntimeError(f"the server of {name} does not start")
        self.address = line.rsplit(" at ", 1)[1].strip()

    def stop(self):
        self._process.terminate()
        status = self._process.wait(timeout=20)
        self._process.stdout.close()
        if status != 0:
            raise RuntimeError(f"the server ended with status {status}")


def packed(settings):
    return {name: tensor_utils.pack_tensor(value) for name, value in settings.items()}


def action_within(spec):
    """A tensor that is right for the spec: the lowest values."""
    if spec.dtype == messages.DataType.BOOL:
        return tensor_utils.pack_tensor(np.zeros(spec.shape, bool))
    low = tensor_spec_utils.bounds(spec).min
    return tensor_utils.pack_tensor(np.broadcast_to(low, spec.shape).astype(low.dtype), dtype=spec.dtype)


class Connected:
    """What all suites share: a server for each environment, and a connection for each test."""

    served = None  # Of SERVED.
    waggle = None
    servers = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        name, flags, cls.join_settings = SERVED[cls.served]
        if cls.served not in cls.servers:
            cls.servers[cls.served] = Server(cls.waggle, name, flags)
        cls.server = cls.servers[cls.served]

    def setUp(self):
        # As the package connects by itself: local credentials, which a server without any takes too.
        self._connection = connections.create_secure_channel_and_connect(self.server.address, timeout=20)
        self._world_name = self._connection.send(messages.CreateWorldRequest()).world_name
        super().setUp()

    def tearDown(self):
        try:
            super().tearDown()
            self._connection.send(messages.LeaveWorldRequest())
            self._connection.send(messages.DestroyWorldRequest(world_name=self._world_name))
        finally:
            self._connection.close()

    @property
    def connection(self):
        return self._connection

    @property
    def world_name(self):
        return self._world_name

    def join_world(self, **kwargs):
        kwargs = kwargs or {"world_name": self._world_name, "settings": packed(self.join_settings)}
        return self._connection.send(messages.JoinWorldRequest(**kwargs)).specs


class CreateDestroyWorldSuite(Connected, create_destroy_world.CreateDestroyWorld):
    required_world_settings = {}
    has_multiple_world_support = True
    invalid_world_settings = packed({"lanes": 0, "no_such_setting": 1})


class JoinLeaveWorldSuite(Connected, join_leave_world.JoinLeaveWorld):
    @property
    def invalid_join_settings(self):
        wrong = {"lanes": -1, "no_such_setting": 1, "seed": 0.5}
        # The suite lets those that are right go over the others.
        return packed({name: value for name, value in wrong.items() if name not in self.join_settings})

    @property
    def required_join_settings(self):
        return packed(self.join_settings)


class ResetSuite(Connected, reset.Reset):
    pass


class ResetWorldSuite(Connected, reset_world.ResetWorld):
    pass


class StepSuite(Connected, step.Step):
    def setUp(self):
        super().setUp()
        self._specs = self.join_world()

    @property
    def specs(self):
        return self._specs

    @property
    def required_actions(self):
        return {uid: action_within(spec) for uid, spec in self._specs.actions.items()}


class AdaptorSuite(Connected, test_utils.EnvironmentTestMixin, absltest.TestCase):
    """The suite of dm_env, by the package's own adaptor."""

    def make_object_under_test(self):
        return dm_env_adaptor.DmEnvAdaptor(self._connection, self.join_world())


class OwnSuite(Connected, absltest.TestCase):
    """What no suite of the package looks at."""

    def test_pipelined_requests_are_answered_in_their_order(self):
        specs = self.join_world()
        actions = {uid: action_within(spec) for uid, spec in specs.actions.items()}
        with grpc.insecure_channel(self.server.address) as channel:
            stub = connections.dm_env_rpc_pb2_grpc.EnvironmentStub(channel)
            requests = [messages.EnvironmentRequest(join_world=messages.JoinWorldRequest())]
            requests += [messages.EnvironmentRequest(step=messages.StepRequest(actions=actions))] * 50
            requests += [messages.EnvironmentRequest(leave_world=messages.LeaveWorldRequest())]
            kinds = [response.WhichOneof("payload") for response in stub.Process(iter(requests))]
        self.assertEqual(kinds[0], "join_world")
        self.assertEqual(kinds[-1], "leave_world")
        self.assertEqual(len(kinds), 52)

    def test_an_error_leaves_the_stream_as_it_was(self):
        self.join_world()
        with self.assertRaises(error.DmEnvRpcError):
            self._connection.send(messages.StepRequest(requested_observations=[12345]))
        response = self._connection.send(messages.StepRequest())
        self.assertEqual(response.state, messages.EnvironmentStateType.RUNNING)

    def test_resetting_the_world_interrupts_the_others_who_have_joined_it(self):
        specs = self.join_world()
        self._connection.send(messages.StepRequest())
        other = connections.create_secure_channel_and_connect(self.server.address, timeout=20)
        other.send(messages.ResetWorldRequest(world_name=self._world_name))
        other.close()
        types = {spec.name: uid for uid, spec in specs.observations.items()}
        asked = [types["step_type"]] if "step_type" in types else []
        response = self._connection.send(messages.StepRequest(requested_observations=asked))
        if asked:
            self.assertTrue((tensor_utils.unpack_tensor(response.observations[asked[0]]) == 2).all())
        else:
            self.assertEqual(response.state, messages.EnvironmentStateType.INTERRUPTED)
        response = self._connection.send(messages.StepRequest())
        self.assertEqual(response.state, messages.EnvironmentStateType.RUNNING)

    def test_properties_can_be_listed_and_read(self):
        extension = properties.PropertiesExtension(self._connection)
        for key, spec in extension.specs().items():
            self.assertTrue(spec.readable)
            extension[key]
        self.assertEqual(extension["environment"], SERVED[self.served][0])
        with self.assertRaises(KeyError):
            extension["no_such_property"]
        with self.assertRaises(PermissionError):
            extension["environment"] = "another"


SUITES = [CreateDestroyWorldSuite, JoinLeaveWorldSuite, ResetSuite, ResetWorldSuite, StepSuite, AdaptorSuite, OwnSuite]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--waggle", required=True)
    arguments, rest = parser.parse_known_args()
    Connected.waggle = arguments.waggle
    suites = SUITES[:]
    for suite in suites:
        for served, (_, _, settings) in SERVED.items():
            if suite is AdaptorSuite and "lanes" in settings:
                continue  # What is always RUNNING has no episodes by themselves.
            name = suite.__name__ + served
            globals()[name] = type(name, (suite,), {"served": served})
    for suite in suites:
        del globals()[suite.__name__]
    SUITES.clear()
    outcome = unittest.main(argv=[sys.argv[0], *rest], testRunner=unittest.TextTestRunner, exit=False).result
    for server in Connected.servers.values():
        server.stop()
    return 0 if outcome.wasSuccessful() and outcome.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
