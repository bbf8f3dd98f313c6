"""Reads data sets of other libraries: Minari's folders, and NumPy archives or HDF5 files with D4RL's arrays."""

import json
import pathlib
import sys
from collections import OrderedDict

import numpy as np
from gymnasium import spaces

from waggle_environment import _episodes, _minari
from waggle_environment._masks import observation_leaves
from waggle_environment._refused import Refused
from waggle_environment._spaces import Spec, leaves_of, reward_leaf


def _space(told, name):
    """A space from Minari's JSON."""
    kind = told.get("type")
    if kind == "Box":
        low, high = (np.array(told[key], dtype=told["dtype"]).reshape(told["shape"]) for key in ("low", "high"))
        return spaces.Box(low, high, tuple(told["shape"]), np.dtype(told["dtype"]))
    if kind == "Discrete":
        return spaces.Discrete(told["n"], start=told.get("start", 0))
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(np.array(told["nvec"]), start=told.get("start"))
    if kind == "MultiBinary":
        return spaces.MultiBinary(told["n"])
    if kind == "Dict":
        # Gymnasium sorts other mappings. The order of leaves is the environment's.
        return spaces.Dict(OrderedDict((key, _space(inner, key)) for key, inner in told["subspaces"].items()))
    if kind == "Tuple":
        return spaces.Tuple([_space(inner, name) for inner in told["subspaces"]])
    raise Refused(f"{name}: got a space {kind}; wanted Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple")


def _spec(observation_space, action_space, max_episode_steps=0):
    notes = []
    return Spec(
        observation_leaves(observation_space, action_space, {}, notes)[0], leaves_of(action_space, "action", notes),
        [reward_leaf()], max_episode_steps, notes=notes
    )


def _nested(group):
    """A group of HDF5 as nested arrays."""
    if not hasattr(group, "keys"):
        return group[()]
    if all(key.startswith("_index_") for key in group):
        return tuple(_nested(group[f"_index_{index}"]) for index in range(len(group)))
    return {key: _nested(group[key]) for key in group}


def _convert_minari(folder, drop_last, out):
    import h5py

    with h5py.File(folder / "data" / "main_data.hdf5") as file:
        facts = dict(file.attrs)
        metadata = folder / "data" / "metadata.json"
        if metadata.exists():
            facts.update(json.loads(metadata.read_text()))
        for key in ("observation_space", "action_space"):
            if key not in facts:
                raise Refused(f"has no {key}; wanted a data set of Minari 0.4 or newer")
        found = [_space(json.loads(facts[key]), key) for key in ("observation_space", "action_space")]
        told = json.loads(facts.get("env_spec") or "{}")
        name = told.get("id") or str(facts.get("dataset_id", folder.name))
        writer = _episodes.Writer(out, name, _spec(*found, told.get("max_episode_steps") or 0))
        names = sorted((key for key in file if key.startswith("episode_")), key=lambda key: int(key.split("_")[1]))
        for number, key in enumerate(names):
            episode = file[key]
            rewards = episode["rewards"][()]
            for flags in ("terminations", "truncations"):
                if episode[flags].shape != rewards.shape:
                    raise Refused(f"{key}: {flags}: got the shape {list(episode[flags].shape)}; wanted "
                                  f"{list(rewards.shape)}, as of rewards")
                if np.any(episode[flags][:-1]):
                    raise Refused(f"{key}: {flags}: got an end at step {int(np.argmax(episode[flags]))} of "
                                  f"{len(rewards)}; wanted none before the last step")
            terminated = bool(episode["terminations"][-1])
            if not terminated and not bool(episode["truncations"][-1]):
                if drop_last and number + 1 == len(names):
                    break
                raise Refused(f"{key}: its last step neither terminates nor truncates it; wanted an end"
                              + _HINT * (number + 1 == len(names)))
            writer.add(_nested(episode["observations"]), _nested(episode["actions"]), rewards, terminated)
        writer.end()


_HINT = ", or --drop-last"
_NEEDED = ("observations", "actions", "rewards", "terminals")
_ONE_A_STEP = ("rewards", "terminals", "timeouts")


def _spaces_of(arrays):
    """The spaces of D4RL's arrays."""
    observations, actions = arrays["observations"], arrays["actions"]
    kind = np.uint8 if observations.dtype == np.uint8 else np.float32
    low, high = (0, 255) if kind == np.uint8 else (-np.inf, np.inf)
    observation = spaces.Box(low, high, observations.shape[1:], kind)
    if np.issubdtype(actions.dtype, np.integer):
        if actions.ndim != 1:
            raise Refused(f"actions: got integers of the shape {list(actions.shape)}; wanted one a step")
        told = arrays.get("num_actions", actions.max().astype(int) + 1)
        if np.size(told) != 1:
            raise Refused(f"num_actions: got the shape {list(np.shape(told))}; wanted one number")
        choices = int(told.item())
        if actions.min() < 0 or actions.max() >= choices:
            raise Refused(f"actions: got choices from {actions.min()} to {actions.max()}; wanted them from 0 to "
                          f"{choices - 1}, below num_actions")
        return observation, spaces.Discrete(choices)
    low, high = (_bound(arrays, *one, actions.shape[1:]) for one in (("action_low", -1), ("action_high", 1)))
    if not (low < high).all():
        raise Refused(f"action_low: got {low.tolist()}; wanted less than action_high, {high.tolist()}")
    if (actions < low).any() or (actions > high).any():
        raise Refused(f"actions: got numbers from {actions.min()} to {actions.max()}; wanted them from action_low to "
                      f"action_high, by default -1 and 1")
    return observation, spaces.Box(low, high, dtype=np.float32)


def _bound(arrays, key, default, shape):
    bound = np.asarray(arrays.get(key, default), np.float32)
    try:
        return np.broadcast_to(bound, shape)
    except ValueError as error:
        raise Refused(f"{key}: got the shape {list(bound.shape)}; wanted one number, or the shape "
                      f"{list(shape)}") from error


def _check_arrays(arrays):
    missing = [key for key in _NEEDED if key not in arrays]
    if missing:
        raise Refused(f"has no {', '.join(missing)}; wanted {', '.join(_NEEDED)}, and timeouts")
    rewards = arrays["rewards"]
    if not rewards.size or rewards.ndim == 0:
        raise Refused(f"rewards: got the shape {list(rewards.shape)}; wanted one number a step")
    steps = len(rewards)
    for key in (*_NEEDED, "timeouts", "next_observations"):
        if key not in arrays:
            continue
        shape = arrays[key].shape
        if shape[:1] != (steps,):
            raise Refused(f"{key}: got the shape {list(shape)}; wanted {steps} rows, as of rewards")
        if key in _ONE_A_STEP and arrays[key].size != steps:
            raise Refused(f"{key}: got the shape {list(shape)}; wanted one number a step, [{steps}]")
        if arrays[key].dtype.kind not in "biuf":
            raise Refused(f"{key}: got elements of {arrays[key].dtype}; wanted numbers")
    if "next_observations" in arrays and arrays["next_observations"].shape != arrays["observations"].shape:
        raise Refused(f"next_observations: got the shape {list(arrays['next_observations'].shape)}; wanted "
                      f"{list(arrays['observations'].shape)}, as of observations")


def _convert_arrays(arrays, name, drop_last, out):
    _check_arrays(arrays)
    steps = len(arrays["rewards"])
    terminals = np.asarray(arrays["terminals"], bool).reshape(-1)
    timeouts = np.asarray(arrays.get("timeouts", np.zeros(steps)), bool).reshape(-1)
    following = arrays.get("next_observations")
    ends = np.flatnonzero(terminals | timeouts)
    rest = steps - (ends[-1] + 1 if len(ends) else 0)
    if rest and not drop_last:
        raise Refused(f"the last {rest} steps have no end in terminals or timeouts; wanted one{_HINT}")
    writer = _episodes.Writer(out, name, _spec(*_spaces_of(arrays)))
    first = 0
    for end in ends:
        # Without next_observations the observation after a timeout is unknown, so that the last step is left out.
        unknown = following is None and not terminals[end]
        last = end if unknown else end + 1
        if last > first:
            final = arrays["observations"][end] if following is None else following[end]
            shown = np.concatenate([arrays["observations"][first:last], final[None]])
            writer.add(shown, arrays["actions"][first:last], arrays["rewards"][first:last].reshape(-1),
                       bool(terminals[end]))
        first = end + 1
    writer.end()


def _convert(path, drop_last, out):
    if not path.exists():
        raise Refused("is not there; wanted a Minari folder, an .npz archive or an .hdf5 file")
    if path.is_dir():
        if not (path / "data" / "main_data.hdf5").exists():
            raise Refused("has no data/main_data.hdf5; wanted a data set's folder of Minari")
        _convert_minari(path, drop_last, out)
    elif path.suffix == ".npz":
        with open(path, "rb") as file, np.load(file) as arrays:
            _convert_arrays(dict(arrays), path.stem, drop_last, out)
    else:
        import h5py

        with h5py.File(path) as file:
            _convert_arrays({key: file[key][()] for key in file if hasattr(file[key], "shape")}, path.stem, drop_last,
                            out)


def convert(source, drop_last, out):
    """Writes the episodes of a data set to an open file. Refuses a malformed one, by its name."""
    path = pathlib.Path(source.removeprefix("minari:"))
    try:
        _convert(path, drop_last, out)
    except Refused as error:
        raise Refused(f"{path}: {error}") from error
    except (OSError, ImportError):
        raise
    except Exception as error:  # NumPy, h5py and Gymnasium have many classes of errors for malformed data.
        told = " ".join(str(error).split())
        raise Refused(f"{path}: got {type(error).__name__}: {told}; wanted a data set that is whole") from error


def main(verb, source, out, *flags):
    """`import SOURCE OUT [--drop-last]`, `export ROWS FOLDER` or `check-export ROWS FOLDER`. Prints what is wrong."""
    try:
        if verb == "import":
            with open(out, "wb") as file:
                convert(source, "--drop-last" in flags, file)
        else:
            {"export": _minari.write, "check-export": _minari.check}[verb](source, out)
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{source if verb == 'import' else out}: {error}", file=sys.stderr)
        return 2
    return 0
