"""Films of episodes, which Gymnasium's RecordVideo writes."""

import sys
import warnings

from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import RecordVideo

from waggle_environment._refused import Refused


class _FilmedEpisodes(RecordVideo):
    """Writes each episode that gets one of the lanes' shared numbers, once it has ended."""

    def __init__(self, environment, folder, numbers):
        with warnings.catch_warnings():  # RecordVideo warns of files that may be replaced.
            warnings.simplefilter("ignore")
            super().__init__(environment, folder, episode_trigger=lambda _: False)
        self._numbers = numbers

    def reset(self, *, seed=None, options=None):
        shown = super().reset(seed=seed, options=options)
        number = next(self._numbers, None)
        if number is not None:
            self.start_recording(f"episode-{number}")
            self._capture_frame()
        return shown

    def step(self, action):
        shown = super().step(action)
        _, _, terminated, truncated, _ = shown
        if self.recording and (terminated or truncated):
            self.stop_recording()
        return shown


def film(groups, name, folder, episodes):
    """Wraps all lanes of groups, which must have been reset once."""
    numbers = iter(range(episodes))
    try:
        groups[0].render()
        for group in groups:
            group.wrap(lambda environment: _FilmedEpisodes(environment, folder, numbers))
    except DependencyNotInstalled as error:
        raise Refused(f"--video: {sys.executable} lacks what films {name}: {error}") from error
