"""Experiments of configs/, changed for the tests of deploy/."""

import pathlib

from images import ROOT


def write(folder, name, changes):
    """Writes configs/NAME.yaml to `folder` with some texts replaced; each must be in it once."""
    text = (ROOT / "configs" / f"{name}.yaml").read_text()
    for old, new in changes.items():
        if text.count(old) != 1:
            raise ValueError(f"configs/{name}.yaml has \"{old}\" {text.count(old)} times; wanted it once")
        text = text.replace(old, new)
    path = pathlib.Path(folder, f"{name}.yaml")
    path.write_text(text)
    return path


def patient(folder, name):
    """The experiment with time for a machine that runs many processes."""
    return write(folder, name, {"max_seconds: 60": "max_seconds: 900"})


def apex_that_outlives_faults(folder):
    """Ape-X over two replay servers that log. It is evaluated once a minute, so that it does not end before the faults."""
    return write(folder, "cartpole_apex_dqn", {
        "durability: none": "durability: log\n  servers: 2",
        "period_seconds: 0.1": "period_seconds: 60",
        "max_env_steps: 150000": "max_env_steps: 2000000",
        "max_seconds: 60": "max_seconds: 1200",
    })


def gymnasium(folder):
    """Gymnasium's CartPole, with time for a machine that runs many processes."""
    return write(folder, "gymnasium_cartpole_ppo", {"max_seconds: 120": "max_seconds: 900"})


def gymnasium_that_outlives_faults(folder):
    """Gymnasium's CartPole by four actors. It is evaluated late, so that it does not end before the faults."""
    return write(folder, "gymnasium_cartpole_ppo", {
        "processes: 1": "processes: 4",
        "period_seconds: 0.1": "period_seconds: 15",
        "max_env_steps: 100000": "max_env_steps: 2000000",
        "max_seconds: 120": "max_seconds: 900",
    })


def my_game(folder):
    """The environment of USERS_ACTOR's package by four actors, for a few thousand steps."""
    return write(folder, "gymnasium_cartpole_ppo", {
        "id: CartPole-v1": 'id: "my_game:Corridor"\n    wrappers: [{TimeLimit: {max_episode_steps: 100}}]',
        "processes: 1": "processes: 4",
        "target_return: 475": "target_return: null",
        "max_env_steps: 100000": "max_env_steps: 20000",
        "max_seconds: 120": "max_seconds: 900",
    })
