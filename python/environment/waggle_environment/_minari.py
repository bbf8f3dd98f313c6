"""Writes episodes in Minari's layout: data/main_data.hdf5 and data/metadata.json (format of Minari 0.5)."""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
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
            told = ", ".join(f"{reward['name']} {reward['shape']}" for reward in spec["rewards"])
            raise Refused(f"rewards: got {told} of {self.name}; wanted one number, as in Minari")
        self.spaces = {key: json.dumps(_tree_space(_tree(leaves, leaves)))
                       for key, leaves in (("observation_space", self.observations), ("action_space", self.actions))}

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
    most = np.iinfo(leaf.dtype) if np.issubdtype(leaf.dtype, np.integer) else None
    for key, without in (("low", most.min if most else -np.inf), ("high", most.max if most else np.inf)):
        bound = np.array([float(one) for one in getattr(leaf, key)] or [without])
        bounds[key] = np.broadcast_to(bound.reshape(leaf.shape if bound.size > 1 else ()), leaf.shape).tolist()
    return {"type": "Box", **told, **bounds}


def _tree(leaves, values):
    """Values by the names of their leaves: one alone, or nested mappings, without the root if all have the same."""
    names = [leaf.name.split("/") for leaf in leaves]
    if len(names) == 1 and len(names[0]) == 1:
        return values[0]
    shared = len({root for root, *_ in names}) == 1
    tree = {}
    for name, value in zip(names, values):
        *parts, last = name[shared:]
        place = tree
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return tree


def _tree_space(tree):
    if isinstance(tree, Leaf):
        return _space(tree)
    return {"type": "Dict", "subspaces": {key: _tree_space(inner) for key, inner in tree.items()}}


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


def _free(folder):
    """The folder as a path, and those above it that must be made, the deepest first."""
    folder = pathlib.Path(folder).absolute()
    if os.path.lexists(folder):
        raise Refused(f"{folder}: is there already; wanted a new folder")
    missing = [parent for parent in folder.parents if not parent.exists()]
    within = folder.parents[len(missing)]
    if not within.is_dir() or not os.access(within, os.W_OK):
        raise Refused(f"{folder}: got a path in {within}; wanted one in a folder that can be written to")
    return folder, missing


def check(rows_path, folder):
    """Refuses what `write` would refuse for any rows of the file's spec, which may have none."""
    import h5py  # noqa: F401

    with open(rows_path, "rb") as file:
        _Rows(file)
    _free(folder)


def write(rows_path, folder):
    """Writes a new folder, which appears once it is whole. Nothing is left behind after an error."""
    with open(rows_path, "rb") as file:
        rows = _Rows(file)
        folder, missing = _free(folder)
        partial = folder.with_name(f"{folder.name}.partial-{secrets.token_hex(4)}")
        try:
            _write_data(rows, partial / "data", folder.name)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            with contextlib.suppress(OSError):
                for parent in missing:
                    parent.rmdir()
            raise


def _write_data(rows, data, name):
    import h5py

    data.mkdir(parents=True)
    steps = episodes = 0
    with h5py.File(data / "main_data.hdf5", "w") as file:
        shown = len(rows.observations)
        for number, columns in enumerate(rows.episodes()):
            count = len(columns[-1]) - 1
            group = file.create_group(f"episode_{number}")
            group.attrs.update({"id": number, "total_steps": count, "seed": number})
            _write(group, "observations", _tree(rows.observations, columns))
            actions = [_as_environment(leaf, column[:-1]) for leaf, column in zip(rows.actions, columns[shown:])]
            _write(group, "actions", _tree(rows.actions, actions))
            terminated = columns[-2][count - 1] == 0
            group.create_dataset("rewards", data=columns[-3][:-1].astype(np.float64))
            for key, ends in (("terminations", terminated), ("truncations", not terminated)):
                flags = np.zeros(count, bool)
                flags[-1] = ends
                group.create_dataset(key, data=flags)
            steps, episodes = steps + count, episodes + 1
    metadata = {"total_episodes": episodes, "total_steps": steps, "data_format": "hdf5", "jpeg_encoding": False,
                **rows.spaces, "dataset_id": f"waggle/{name}-v0", "minari_version": "0.5.4",
                "env_spec": json.dumps({"id": rows.name, "entry_point": None, "reward_threshold": None,
                                        "nondeterministic": False, "max_episode_steps": rows.max_episode_steps or None,
                                        "order_enforce": True, "disable_env_checker": False, "kwargs": {},
                                        "additional_wrappers": [], "vector_entry_point": None})}
    (data / "metadata.json").write_text(json.dumps(metadata))
