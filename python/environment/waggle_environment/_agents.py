"""Adapts an environment of several agents, such as PettingZoo's parallel ones, to SingleLanes."""

import numpy as np
from gymnasium import spaces

from waggle_environment._masks import MASK, observation_leaves
from waggle_environment._refused import Refused
from waggle_environment._spaces import Leaf, leaves_of, reward_leaf

_ALIVE = "observation/alive"


class ParallelAgents:
    """The episode ends when all agents have left. An agent that leaves earlier has zeros as its observations until
    then; the leaf `observation/alive` says which agents are there."""

    spec = None

    def __init__(self, environment, name):
        if not hasattr(environment, "possible_agents") or not hasattr(environment, "observation_space"):
            raise Refused(f"environment.pettingzoo.id: got {name}, which is no parallel environment; wanted one with "
                          "possible_agents, observation_space and action_space")
        self._environment = environment
        self._agents = list(environment.possible_agents)
        self._observation_spaces = {agent: environment.observation_space(agent) for agent in self._agents}
        self.action_space = spaces.Dict({agent: environment.action_space(agent) for agent in self._agents})
        self._zeros = {agent: _zeros(space) for agent, space in self._observation_spaces.items()}
        self._terminated = {}
        _, self._first_infos = environment.reset(seed=0)

    def leaves(self, notes):
        observations, actions, rewards = [], [], []
        for agent in self._agents:
            prefix = f"{agent}/"
            info = self._first_infos.get(agent, {})
            action_space = self.action_space.spaces[agent]
            inside, in_info = observation_leaves(
                self._observation_spaces[agent], action_space, info, notes, prefix, ("observation", agent))
            for leaf in in_info:
                leaf.path = (MASK, agent)
            observations += inside + in_info
            actions += leaves_of(action_space, f"{agent}/action", notes, (agent,))
            rewards.append(reward_leaf(f"{agent}/reward", path=(agent,)))
        observations.append(Leaf(_ALIVE, "multi-binary", np.dtype(bool), (len(self._agents),), ("alive",)))
        return observations, actions, rewards

    def reset(self, seed=None):
        observations, infos = self._environment.reset(seed=seed)
        self._terminated = dict.fromkeys(self._agents, True)
        return self._row(observations, infos), {}

    def step(self, action):
        environment = self._environment
        here = list(environment.agents)
        observations, rewards, terminated, truncated, infos = environment.step({agent: action[agent] for agent in here})
        for agent in here:
            if truncated.get(agent, False) and not terminated.get(agent, False):
                self._terminated[agent] = False
        over = not environment.agents
        row = self._row(observations, infos)
        rewards = {agent: float(rewards.get(agent, 0.0)) for agent in self._agents}
        all_terminated = all(self._terminated.values())
        return row, rewards, over and all_terminated, over and not all_terminated, {}

    def close(self):
        self._environment.close()

    def _row(self, observations, infos):
        masks = {}
        for agent in self._agents:
            if MASK in self._first_infos.get(agent, {}):
                zeros = np.zeros_like(self._first_infos[agent][MASK])
                masks[agent] = infos.get(agent, {}).get(MASK, zeros)
        return {
            "observation": {agent: observations.get(agent, self._zeros[agent]) for agent in self._agents},
            MASK: masks,
            "alive": np.array([agent in self._environment.agents for agent in self._agents]),
        }


def _zeros(space):
    if isinstance(space, spaces.Dict):
        return {key: _zeros(inner) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_zeros(inner) for inner in space.spaces)
    if isinstance(space, spaces.Discrete):
        return int(space.start)
    if isinstance(space, spaces.MultiDiscrete):
        return np.array(space.start)
    if isinstance(space, (spaces.MultiBinary, spaces.Box)):
        return np.zeros(space.shape, space.dtype)
    return None  # leaves_of refuses this space.
