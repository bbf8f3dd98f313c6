"""Makes the environments that the actor asks for."""

import importlib
import os

from waggle_environment._refused import Refused

_RENDER_MODE = "rgb_array"


def open_lanes(scheme, options, group_lanes):
    """One object a group of lanes, with `spec` and `run`."""
    try:
        if scheme == "gymnasium":
            return _open_gymnasium(options, group_lanes)
        if scheme == "pettingzoo":
            return _open_pettingzoo(options, group_lanes)
    except TypeError as error:
        if "argument" in str(error):  # What a constructor says of keywords that it does not know.
            raise Refused(f"environment.{scheme}.kwargs: got {options.get('kwargs')}: {error}") from error
        raise
    raise Refused(f"environment: got {scheme}; wanted gymnasium or pettingzoo")


def _open_gymnasium(options, group_lanes):
    from waggle_environment._single import SingleLanes
    from waggle_environment._vector import VectorLanes

    maker = _Maker(options)
    vector = options.get("vector", "auto")
    video = options.get("video")
    if video is None and (vector in ("true", "undivided") or (vector == "auto" and maker.has_vector())):
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
        SingleLanes([ParallelAgents(make(**kwargs), name) for _ in range(lanes)], name) for lanes in group_lanes
    ]


class _Maker:
    def __init__(self, options):
        key = "environment.gymnasium.id"
        self._gymnasium = _import("gymnasium", key, options["id"])
        self._kwargs = dict(options.get("kwargs") or {})
        self._filmed = "video" in options
        if self._filmed:
            self._kwargs["render_mode"] = _RENDER_MODE
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # Of pygame: there need be no screen.
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

    def has_vector(self):
        spec = self._gymnasium.registry.get(self._id)
        return spec is not None and spec.vector_entry_point is not None and not self._wrappers

    def make(self):
        try:
            environment = self._make_bare()
        except TypeError as error:
            if self._filmed and "render_mode" in str(error):
                raise self._no_pictures() from error
            raise
        # Gymnasium itself makes one of another mode, or none, and warns.
        if self._filmed and (_RENDER_MODE not in environment.metadata.get("render_modes", [])
                             or environment.render_mode != _RENDER_MODE):
            raise self._no_pictures()
        for wrap, kwargs in self._wrappers:
            environment = wrap(environment, **kwargs)
        return environment

    def _make_bare(self):
        if self._class is not None:
            return self._class(**self._kwargs)
        return self._made(lambda: self._gymnasium.make(self._id, disable_env_checker=True, **self._kwargs))

    def _no_pictures(self):
        return Refused(f"--video: got {self._id}, which has no render mode {_RENDER_MODE}; wanted one that has")

    def make_vector(self, lanes):
        if self._wrappers:
            raise Refused("environment.gymnasium.wrappers: got some beside vector: true; wanted none")
        mode = "vector_entry_point"
        return self._made(
            lambda: self._gymnasium.make_vec(self._id, lanes, vectorization_mode=mode, **self._kwargs))

    def _made(self, make):
        try:
            return make()
        except self._gymnasium.error.Error as error:
            raise Refused(f"environment.gymnasium.id: got {self._id}: {error}") from error


def _import(module, key, name):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
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
