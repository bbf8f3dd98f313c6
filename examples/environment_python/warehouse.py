"""An environment of one's own: configs/warehouse_ppo.yaml learns it. It needs gymnasium and NumPy."""

import gymnasium
import numpy as np

SIDE = 7
MOST_STEPS = 20


class Warehouse(gymnasium.Env):
    """A robot on a square of cells drives to the shelf, in one of the corners, with the ordered goods.

    It shows a dict, of the robot's place and the number of the shelf, and takes two choices at once: to the left, not at
    all or to the right, and likewise up and down. The shelf is worth 1, and each step costs 0.05.
    """

    observation_space = gymnasium.spaces.Dict(
        place=gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        shelf=gymnasium.spaces.Discrete(4),
    )
    action_space = gymnasium.spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.integers(1, SIDE - 1, 2)
        self.shelf = self.np_random.integers(4)
        self.steps = 0
        return self._shown(), {}

    def step(self, action):
        self.place = np.clip(self.place + action - 1, 0, SIDE - 1)
        self.steps += 1
        arrived = bool((self.place == np.array([self.shelf % 2, self.shelf // 2]) * (SIDE - 1)).all())
        return self._shown(), float(arrived) - 0.05, arrived, self.steps == MOST_STEPS, {}

    def _shown(self):
        return {"place": (self.place * 2 / (SIDE - 1) - 1).astype(np.float32), "shelf": self.shelf}
