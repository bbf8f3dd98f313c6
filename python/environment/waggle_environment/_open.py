"""Makes the environments that the actor asks for."""

import importlib
import os

from waggle_environment._refused import Refused

_KWARGS = "environment.gymnasium.kwargs"
_RENDER_MODE = "rgb_array"


def open_lanes(scheme, options, group_lanes):
    """One object for each group of lanes, with `spec` and `run`."""
    if scheme == "gymnasium":
        return _open_gymnasium(options, group_lanes)
    if scheme == "pettingzoo":
        return _open_pettingzoo(options, group_lanes)
    raise Refused(f"environment: got {scheme}; wanted gymnasium or pettingzoo")


def _constructed(make, key, kwargs):
    """The result of `make`; unknown keywords are refused with the key that has them."""
    try:
        return make(**kwargs)
    except TypeError as error:
        if "argument" in str(error):
            raise Refused(f"{key}: got {kwargs}: {error}") from error
        raise


def _open_gymnasium(options, group_lanes):
    from waggle_environment._single import SingleLanes
    from waggle_environment._vector import VectorLanes

    maker = _Maker(options)
    vector = options.get("vector", "auto")
    video = options.get("video")
    if video is None and (vector == "true" or (vector == "auto" and maker.has_same_vector())):
        return [VectorLanes(maker.make_vector(lanes), options["id"]) for lanes in group_lanes]
    groups = [SingleLanes([maker.make() for _ in range(lanes)], options["id"]) for lanes in group_lanes]
    if video is not None:
        from waggle_environment._film import film

        film(groups, options["id"], video["folder"], video["episodes"])
    return groups


def _open_pettingzoo(options, group_lanes):
    from waggle_environment._agents import ParallelAgents
    from waggle_environment._single import SingleLanes

    name = options["id"]
    module, _, attribute = name.partition(":")
    make = getattr(_import(module, "environment.pettingzoo.id", name), attribute or "parallel_env", None)
    if make is None:
        raise Refused(f"environment.pettingzoo.id: got {name}; the module {module} has no "
                      f"{attribute or 'parallel_env'}")
    kwargs = options.get("kwargs") or {}
    return [
        SingleLanes(
            [ParallelAgents(_constructed(make, "environment.pettingzoo.kwargs", kwargs), name) for _ in range(lanes)],
            name) for lanes in group_lanes
    ]


class _Maker:
    def __init__(self, options):
        key = "environment.gymnasium.id"
        self._gymnasium = _import("gymnasium", key, options["id"])
        self._kwargs = dict(options.get("kwargs") or {})
        self._filmed = "video" in options
        if self._filmed:
            self._kwargs["render_mode"] = _RENDER_MODE
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame then needs no screen.
        self._wrappers = [_wrapper(one) for one in options.get("wrappers") or []]
        self._id = options["id"]
        if self._id.startswith("ALE/"):
            self._gymnasium.register_envs(_import("ale_py", key, self._id))
        module, _, name = self._id.rpartition(":")
        self._class = None
        if module:
            imported = _import(module, key, self._id)
            if name not in self._gymnasium.registry:
                self._class = getattr(imported, name, None)
                if self._class is None:
                    raise Refused(f"{key}: got {self._id}; the module {module} has no {name}, and registers no "
                                  "environment of this name")
            self._id = name

    def has_same_vector(self):
        """True if a vector environment has the spaces of a single one. Atari's preprocesses, so it has not."""
        spec = self._gymnasium.registry.get(self._id)
        if spec is None or spec.vector_entry_point is None or self._wrappers:
            return False
        single = self.make()
        try:
            vector = self.make_vector(1)
        except Exception:  # It may refuse the single one's arguments.
            return False
        finally:
            single.close()
        same = (vector.single_observation_space == single.observation_space
                and vector.single_action_space == single.action_space)
        vector.close()
        return same

    def make(self):
        try:
            environment = self._make_bare()
        except Refused as error:
            if self._filmed and "render_mode" in str(error.__cause__):
                raise self._no_pictures() from error
            raise
        # For an unknown mode Gymnasium only warns, and makes an environment of another mode or none.
        if self._filmed and (_RENDER_MODE not in environment.metadata.get("render_modes", [])
                             or environment.render_mode != _RENDER_MODE):
            raise self._no_pictures()
        for wrap, kwargs in self._wrappers:
            environment = _constructed(lambda **given: wrap(environment, **given),
                                       f"environment.gymnasium.wrappers: {wrap.__name__}", kwargs)
        return environment

    def _make_bare(self):
        if self._class is not None:
            return _constructed(self._class, _KWARGS, self._kwargs)
        return self._made(lambda **kwargs: self._gymnasium.make(self._id, disable_env_checker=True, **kwargs))

    def _no_pictures(self):
        return Refused(f"--video: got {self._id}, which has no render mode {_RENDER_MODE}; wanted one that has")

    def make_vector(self, lanes):
        if self._wrappers:
            raise Refused("environment.gymnasium.wrappers: got some beside vector: true; wanted none")
        mode = "vector_entry_point"
        return self._made(
            lambda **kwargs: self._gymnasium.make_vec(self._id, lanes, vectorization_mode=mode, **kwargs))

    def _made(self, make):
        try:
            return _constructed(make, _KWARGS, self._kwargs)
        except self._gymnasium.error.Error as error:
            raise Refused(f"environment.gymnasium.id: got {self._id}: {error}") from error


def _import(module, key, name):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise Refused(f"{key}: got {name}; this Python has no module {error.name}: install it, or name another "
                          "interpreter by environment.python") from error
        raise Refused(f"{key}: got {name}, which needs a module that this Python lacks: {error.name}; install it, or "
                      "name another interpreter by environment.python") from error


def _wrapper(item):
    """A wrapper's class and its arguments: "Name", "module:Name", or {either: {arguments}}."""
    key = "environment.gymnasium.wrappers"
    name, kwargs = item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, kwargs = next(iter(item.items()))
    if not isinstance(name, str) or not isinstance(kwargs or {}, dict):
        raise Refused(f"{key}: got {item!r}; wanted a name, or one with its arguments")
    module, _, name = name.rpartition(":")
    found = getattr(_import(module or "gymnasium.wrappers", key, name), name, None)
    if found is None:
        raise Refused(f"{key}: {module or 'gymnasium.wrappers'} has no {name}")
    return found, kwargs or {}
