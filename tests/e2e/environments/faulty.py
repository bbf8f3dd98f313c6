"""An environment with one mistake, in its third step."""

import os
import subprocess

import gymnasium
import numpy as np


class Faulty(gymnasium.Env):
    def __init__(self, fault):
        self.observation_space = gymnasium.spaces.Dict({
            "gear": gymnasium.spaces.Discrete(4),
            "place": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        })
        self.action_space = gymnasium.spaces.Discrete(2)
        self._fault = fault
        self._steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observation(), {}

    def step(self, action):
        self._steps += 1
        observation, reward = self._observation(), 0.0
        if self._steps == 3:
            if self._fault == "reward":
                reward = float("nan")
            elif self._fault == "choice":
                observation["gear"] = np.int64(9)
            elif self._fault == "number":
                observation["place"][1] = np.inf
            elif self._fault == "shape":
                observation["place"] = np.zeros(3, np.float32)
            elif self._fault == "exception":
                raise ValueError("the clutch slips")
            elif self._fault == "exit":
                os._exit(7)
            elif self._fault == "child":
                subprocess.Popen(["sleep", "47113"])
                os._exit(7)
            elif self._fault == "print":
                print("a banner", flush=True)
            elif self._fault == "bounds":
                observation["place"][0] = 5
        return observation, reward, False, False, {}

    def _observation(self):
        return {"gear": np.int64(self._steps % 4), "place": np.zeros(2, np.float32)}
