"""Writes episodes in Minari's layout: data/main_data.hdf5 and data/metadata.json (format of Minari 0.5)."""

import json
import pathlib
import struct

import numpy as np

from waggle_environment import _episodes
from waggle_environment._refused import Refused
from waggle_environment._spaces import Leaf


class _Rows:
    """The rows of a file of _episodes.py, episode by episode."""

    def __init__(self, file):
        self._file = file
        header = json.loads(file.readline())
        self.name, spec = header["name"], header["spec"]
        self.max_episode_steps = spec["max_episode_steps"]
        self.observations, self.actions = [[_leaf(told) for told in spec[key]] for key in ("observations", "actions")]
        if len(spec["rewards"]) != 1 or spec["rewards"][0]["shape"]:
            raise Refused(f"{self.name}: has other rewards than one number; wanted one, as Minari does")

    def episodes(self):
        """Yields lists of the columns of whole episodes."""
        leaves = [*self.observations, *self.actions]
        columns = [(leaf.dtype, leaf.shape) for leaf in leaves]
        columns += [(np.dtype(np.float32), ()), (np.dtype(np.float32), ()), (np.dtype(np.int32), ())]
        pending = [np.empty((0, *shape), dtype) for dtype, shape in columns]
        while rows := struct.unpack("<q", self._file.read(8))[0]:
            for index, (dtype, shape) in enumerate(columns):
                count = rows * int(np.prod(shape, dtype=np.int64))
                read = np.frombuffer(self._file.read(count * dtype.itemsize), dtype).reshape((rows, *shape))
                pending[index] = np.concatenate([pending[index], read])
            while len(ends := np.flatnonzero(pending[-1] == _episodes.LAST)):
                yield [column[: ends[0] + 1] for column in pending]
                pending = [column[ends[0] + 1 :] for column in pending]


def _leaf(told):
    return Leaf(told["name"], told["kind"], np.dtype(told["dtype"]), tuple(told["shape"]), (),
                told.get("num_values", []), told.get("low", []), told.get("high", []))


def _space(leaf):
    """A leaf's space as Minari's JSON."""
    told = {"dtype": leaf.dtype.name, "shape": list(leaf.shape)}
    if leaf.kind == "discrete":
        return {"type": "Discrete", "dtype": "int64", "start": 0, "n": leaf.num_values[0]}
    if leaf.kind == "multi-discrete":
        return {"type": "MultiDiscrete", "dtype": "int64", "nvec": leaf.num_values}
    if leaf.kind == "multi-binary":
        return {"type": "MultiBinary", "n": list(leaf.shape)}
    bounds = {}
    for key, without in (("low", -np.inf), ("high", np.inf)):
        bound = np.array([float(one) for one in getattr(leaf, key)] or [without])
        bounds[key] = np.broadcast_to(bound.reshape(leaf.shape if bound.size > 1 else ()), leaf.shape).tolist()
    return {"type": "Box", **told, **bounds}


def _tree(pairs, make):
    """Leaves by the parts of their names behind the root: itself, or nested mappings, which `make` wraps."""
    pairs = list(pairs)
    if len(pairs) == 1 and "/" not in pairs[0][0]:
        return pairs[0][1]
    tree = {}
    for name, value in pairs:
        *parts, last = name.split("/")[1:]
        place = tree
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return make(tree)


def _dict_space(tree):
    return {"type": "Dict", "subspaces": {key: _dict_space(value) if "type" not in value else value
                                          for key, value in tree.items()}}


def _write(group, key, value):
    if isinstance(value, dict):
        inner = group.create_group(key)
        for name, one in value.items():
            _write(inner, name, one)
    else:
        group.create_dataset(key, data=value)


def _as_environment(leaf, actions):
    """The inverse of what policies choose, clamped as an environment's adapter does."""
    low, high = _episodes.bounds_of(leaf)
    if low is None:
        return actions
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        stretched = low + (np.clip(actions, -1, 1) + 1) / 2 * (high - low)
    return np.where(bounded, stretched, actions).astype(leaf.dtype)


def write(rows_path, folder):
    import h5py

    data = pathlib.Path(folder) / "data"
    data.mkdir(parents=True, exist_ok=False)
    steps = episodes = 0
    with open(rows_path, "rb") as rows_file, h5py.File(data / "main_data.hdf5", "w") as file:
        rows = _Rows(rows_file)
        shown = len(rows.observations)
        for number, columns in enumerate(rows.episodes()):
            count = len(columns[-1]) - 1
            group = file.create_group(f"episode_{number}")
            group.attrs.update({"id": number, "total_steps": count, "seed": number})
            _write(group, "observations",
                   _tree(zip((leaf.name for leaf in rows.observations), columns), lambda tree: tree))
            actions = [(leaf.name, _as_environment(leaf, column[:-1]))
                       for leaf, column in zip(rows.actions, columns[shown:])]
            _write(group, "actions", _tree(actions, lambda tree: tree))
            terminated = columns[-2][count - 1] == 0
            group.create_dataset("rewards", data=columns[-3][:-1].astype(np.float64))
            for key, ends in (("terminations", terminated), ("truncations", not terminated)):
                flags = np.zeros(count, bool)
                flags[-1] = ends
                group.create_dataset(key, data=flags)
            steps, episodes = steps + count, episodes + 1
        spaces = {
            key: json.dumps(_tree(((leaf.name, _space(leaf)) for leaf in leaves), _dict_space))
            for key, leaves in (("observation_space", rows.observations), ("action_space", rows.actions))
        }
    metadata = {"total_episodes": episodes, "total_steps": steps, "data_format": "hdf5", **spaces,
                "dataset_id": f"waggle/{pathlib.Path(folder).name}-v0", "minari_version": "0.5.4",
                "env_spec": json.dumps({"id": rows.name, "entry_point": None, "reward_threshold": None,
                                        "nondeterministic": False, "max_episode_steps": rows.max_episode_steps or None,
                                        "order_enforce": True, "disable_env_checker": False, "kwargs": {},
                                        "additional_wrappers": [], "vector_entry_point": None})}
    (data / "metadata.json").write_text(json.dumps(metadata))
