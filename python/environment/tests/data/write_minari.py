"""Wrote minari.zip beside this file, by Minari 0.5.4: `python write_minari.py FOLDER/minari.zip`.

The archive has the folder of one data set, data, as Minari writes it. test_minari.py knows its rows."""

import os
import shutil
import sys
import tempfile

import numpy as np
from gymnasium import spaces

OBSERVATION = spaces.Dict({
    "place": spaces.Tuple([spaces.Box(-10, 10, (2,), np.float32), spaces.Discrete(3, start=1)]),
    "mode": spaces.MultiDiscrete([2, 3], start=[0, 5]),
    "speed": spaces.Box(-np.inf, np.inf, (), np.float64),
})
ACTION = spaces.Box(np.array([-2, 0], np.float32), np.array([2, 1], np.float32))


def episode(buffer, number, steps, terminated):
    rows = np.arange(steps + 1)
    return buffer(
        id=number, seed=number + 7,
        observations={
            "place": (np.stack([rows, rows / 4 + number], 1).astype(np.float32), rows % 3 + 1),
            "mode": np.stack([rows % 2, rows % 3 + 5], 1),
            "speed": rows * -0.5,
        },
        actions=np.stack([np.linspace(-2, 2, steps), np.linspace(0, 1, steps)], 1).astype(np.float32),
        rewards=[float(number + step) for step in range(steps)],
        terminations=[False] * (steps - 1) + [terminated],
        truncations=[False] * (steps - 1) + [not terminated],
        infos={"lives": rows},
    )


def main(archive):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        import minari
        from minari.data_collector import EpisodeBuffer

        minari.create_dataset_from_buffers(
            "waggle/tiny-v0",
            [episode(EpisodeBuffer, 0, 3, terminated=True), episode(EpisodeBuffer, 1, 2, terminated=False)],
            env="CartPole-v1", observation_space=OBSERVATION, action_space=ACTION,  # For a name and a longest episode.
        )
        shutil.make_archive(archive.removesuffix(".zip"), "zip", os.path.join(folder, "waggle", "tiny-v0"), "data")


if __name__ == "__main__":
    main(sys.argv[1])
