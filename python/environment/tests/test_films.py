"""Films of episodes."""

import os
import tempfile
import unittest
from unittest import mock

import gymnasium
import numpy as np
import support
from gymnasium import spaces

from waggle_environment import _open
from waggle_environment._memory import LAST, RESET, STEP
from waggle_environment._refused import Refused

try:
    import moviepy  # noqa: F401

    HAS_MOVIEPY = True
except ImportError:
    HAS_MOVIEPY = False


class Drawn(gymnasium.Env):
    """Observes its step, and ends after 3."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = spaces.Box(0, 10, (), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self._step = 0

    def reset(self, *, seed=None, options=None):
        self._step = 0
        return np.float32(0), {}

    def step(self, action):
        self._step += 1
        return np.float32(self._step), 1.0, self._step == 3, False, {}

    def render(self):
        return np.full((32, 32, 3), 50 * self._step, np.uint8)


class Plain(Drawn):
    metadata = {"render_modes": ["ansi"]}


class Modeless(Drawn):
    def __init__(self):
        super().__init__()


class Broken(Drawn):
    def render(self):
        raise gymnasium.error.DependencyNotInstalled("no painter is there")


def open_filmed(name, folder, group_lanes=(2,), episodes=3):
    options = {"id": f"{__name__}:{name}", "video": {"folder": folder, "episodes": episodes}}
    return _open.open_lanes("gymnasium", options, list(group_lanes))


class Films(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "films")

    @unittest.skipUnless(HAS_MOVIEPY, "skipped: this Python has no moviepy")
    def test_the_first_episodes_of_all_lanes_are_written_once_they_end(self):
        for one in open_filmed("Drawn", self.folder, group_lanes=(1, 1)):
            group = support.lay_out(one.spec, 1)
            for command in [RESET, STEP, STEP, STEP] * 2:
                group.commands[:] = command
                one.run(group)
            self.assertEqual(group.step_types[0], LAST)
        self.assertEqual(sorted(os.listdir(self.folder)), ["episode-0.mp4", "episode-1.mp4", "episode-2.mp4"])
        self.assertTrue(all(entry.stat().st_size > 0 for entry in os.scandir(self.folder)))

    def test_an_environment_without_pictures_is_refused_by_its_name(self):
        for name in ("Plain", "Modeless"):
            with self.assertRaisesRegex(Refused, f"--video: got {name}, which has no render mode rgb_array"):
                open_filmed(name, self.folder)

    def test_a_missing_package_is_named(self):
        with self.assertRaisesRegex(Refused, "--video: .*no painter is there"):
            open_filmed("Broken", self.folder)
        with mock.patch.dict("sys.modules", {"moviepy": None}):
            with self.assertRaisesRegex(Refused, "--video: .*(?i:moviepy)"):
                open_filmed("Drawn", self.folder)


if __name__ == "__main__":
    unittest.main()
