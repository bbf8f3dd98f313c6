"""Leaves of spaces in the message SPEC."""

import json
import unittest

import numpy as np
from gymnasium import spaces

from waggle_environment._spaces import leaves_of


def told(space):
    return [json.loads(json.dumps(leaf.to_json())) for leaf in leaves_of(space, "action", [])]


class SpacesTest(unittest.TestCase):
    def test_the_first_numbers_of_choices_are_told_where_they_are_not_0(self):
        space = spaces.Dict(
            one=spaces.Discrete(3, start=2),
            plain=spaces.Discrete(3),
            several=spaces.MultiDiscrete([3, 4], start=np.array([0, -1])),
        )
        leaves = {leaf["name"]: leaf for leaf in told(space)}
        self.assertEqual(leaves["action/one"]["start"], [2])
        self.assertNotIn("start", leaves["action/plain"])
        self.assertEqual(leaves["action/several"]["start"], [0, -1])


if __name__ == "__main__":
    unittest.main()
