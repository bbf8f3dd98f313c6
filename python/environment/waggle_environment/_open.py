"""Makes the environments that the actor asks for."""

import importlib

import gymnasium

from waggle_environment._single import SingleLanes
from waggle_environment._spaces import Refused
from waggle_environment._vector import VectorLanes


def open_lanes(scheme, options, group_lanes):
    """One object a group of lanes, with `spec` and `run`."""
    if scheme != "gymnasium":
        raise Refused(f"environment: got {scheme}; wanted gymnasium")
    maker = _Maker(options)
    vector = options.get("vector", "auto")
    if vector is True or (vector == "auto" and maker.has_vector()):
        return [VectorLanes(maker.make_vector(lanes), options["id"]) for lanes in group_lanes]
    return [SingleLanes([maker.make() for _ in range(lanes)], options["id"]) for lanes in group_lanes]


class _Maker:
    def __init__(self, options):
        self._kwargs = dict(options.get("kwargs") or {})
        self._wrappers = [_wrapper(one) for one in options.get("wrappers") or []]
        self._id = options["id"]
        if self._id.startswith("ALE/"):
            _import("ale_py", self._id)
            gymnasium.register_envs(importlib.import_module("ale_py"))
        module, _, name = self._id.rpartition(":")
        self._class = None
        if module:
            imported = _import(module, self._id)
            if name not in gymnasium.registry:
                self._class = getattr(imported, name, None)
                if self._class is None:
                    raise Refused(f"environment.gymnasium.id: got {self._id}; the module {module} has no {name}, and "
                                  "registers no environment of this name")
            self._id = name

    def has_vector(self):
        spec = gymnasium.registry.get(self._id)
        return spec is not None and spec.vector_entry_point is not None and not self._wrappers

    def make(self):
        if self._class is not None:
            environment = self._class(**self._kwargs)
        else:
            environment = _made(lambda: gymnasium.make(self._id, disable_env_checker=True, **self._kwargs), self._id)
        for wrap, kwargs in self._wrappers:
            environment = wrap(environment, **kwargs)
        return environment

    def make_vector(self, lanes):
        if self._wrappers:
            raise Refused("environment.gymnasium.wrappers: got some beside vector: true; wanted none")
        mode = "vector_entry_point"
        return _made(lambda: gymnasium.make_vec(self._id, lanes, vectorization_mode=mode, **self._kwargs), self._id)


def _made(make, name):
    try:
        return make()
    except gymnasium.error.Error as error:
        raise Refused(f"environment.gymnasium.id: got {name}: {error}") from error


def _import(module, name):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Refused(f"environment.gymnasium.id: got {name}, which needs a module that this Python lacks: "
                      f"{error.name}") from error


def _wrapper(item):
    """A wrapper's class and its arguments: "Name", "module:Name", or {either: {arguments}}."""
    name, kwargs = item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, kwargs = next(iter(item.items()))
    if not isinstance(name, str) or not isinstance(kwargs or {}, dict):
        raise Refused(f"environment.gymnasium.wrappers: got {item!r}; wanted a name, or one with its arguments")
    module, _, name = name.rpartition(":")
    found = getattr(_import(module or "gymnasium.wrappers", name), name, None)
    if found is None:
        raise Refused(f"environment.gymnasium.wrappers: {module or 'gymnasium.wrappers'} has no {name}")
    return found, kwargs or {}
