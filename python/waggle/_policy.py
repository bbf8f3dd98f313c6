"""A trained policy in an ONNX file, run by onnxruntime."""

import json

import numpy as np
import onnxruntime

from waggle import _spaces

_FORMAT = "1"
_STATE = "state"
_NEXT_STATE = "next_state"


class Policy:
    """Chooses actions as Waggle's evaluations do: greedily. One thread at a time may call it.

    metadata: facts about the policy, by the names of docs/export.md: "algorithm", "environment", "env_steps", …
    observations, actions: the leaves of the environment's spaces.
    state_size: numbers of its memory of an episode; 0: it has none.
    """

    def __init__(self, path, providers=("CPUExecutionProvider",)):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1  # Small networks are slower with more.
        self._path = path
        self._session = onnxruntime.InferenceSession(str(path), options, providers=list(providers))
        facts = self._session.get_modelmeta().custom_metadata_map
        self.metadata = {
            key[len("waggle.") :]: value for key, value in facts.items() if key.startswith("waggle.")
        }
        if self.metadata.get("format") != _FORMAT:
            raise ValueError(f"{path}: got the format {self.metadata.get('format')}; wanted {_FORMAT}, "
                             "of a file that `waggle export` has written")
        self.observations = [_spaces.Leaf(leaf) for leaf in json.loads(self.metadata["observations"])]
        self.actions = [_spaces.Leaf(leaf) for leaf in json.loads(self.metadata["actions"])]
        self.state_size = int(self.metadata["state_size"])
        self._names = [value.name for value in self._session.get_outputs()]
        inputs = {value.name for value in self._session.get_inputs()}
        self._inputs = [leaf for leaf in self.observations if leaf.name in inputs]

    def act(self, observation, state=None, mask=None):
        """The actions for an observation, and the state for the next call.

        `observation` has the form of the environment's Gymnasium space: an array, a dict or tuple of them, or a dict of
        agents. It may be a batch: each array then has one more dimension, the first. `state` is None when an episode
        begins, and later what the call before returned: an array [state_size] or [batch, state_size], whose rows of
        lanes that begin an episode the caller sets to 0; None if the policy has no memory. `mask`, true for legal
        choices, is wanted where the environment has one, unless it is in the observation, and has the action's form;
        without it all are legal.

        Raises ValueError, naming the array, for an observation of another form.
        """
        outputs, batched = self._run(observation, state, mask)
        values = []
        for leaf in self.actions:
            array = outputs[leaf.name]
            array = array + leaf.start if leaf.starts else array
            values.append((leaf, array if batched else array[0]))
        after = outputs.get(_NEXT_STATE)
        return _spaces.join(values), after if after is None or batched else after[0]

    def outputs(self, observation, state=None, mask=None):
        """All outputs of the graph by name, as arrays [batch, …]: actions, and "q", "logits", "mean", "stddev", …"""
        return self._run(observation, state, mask)[0]

    def torch(self):
        """The policy as a torch.nn.Module, whose parameters have the names that they have in Waggle.

        It maps a dict of tensors [batch, …] to such a dict: the graph's inputs to its outputs.
        """
        from waggle._torch import Module

        return Module(self._path)

    def _run(self, observation, state, mask):
        arrays = {leaf.name: leaf.array(self._find(leaf, observation, mask)) for leaf in self._inputs
                  if leaf.root != "action_mask"}
        batches = {leaf.is_batch(arrays[leaf.name]) for leaf in self._inputs if leaf.name in arrays}
        if len(batches) > 1:
            raise ValueError("observation: got a batch and single arrays; wanted all of one kind")
        batched = batches.pop() if batches else False
        feeds = {name: array if batched else array[None] for name, array in arrays.items()}
        rows = len(next(iter(feeds.values())))
        if any(len(array) != rows for array in feeds.values()):
            raise ValueError("observation: got batches of several lengths; wanted one")
        for leaf in self._inputs:
            if leaf.root == "action_mask":
                given = self._find(leaf, observation, mask)
                legal = np.ones((rows, *leaf.shape), bool) if given is None else leaf.array(given)
                feeds[leaf.name] = legal if leaf.is_batch(legal) else legal[None]
        if self.state_size > 0:
            feeds[_STATE] = self._state(state, rows)
        return dict(zip(self._names, self._session.run(self._names, feeds))), batched

    def _find(self, leaf, observation, mask):
        """A leaf's value; None for a mask that is not given."""
        if leaf.root == "action_mask" and mask is not None:
            for key in ([] if leaf.agent is None else [leaf.agent]) + leaf.path:
                mask = mask[key]
            return mask
        try:
            return _spaces.find(leaf, observation)
        except (KeyError, IndexError, TypeError):
            if leaf.root == "action_mask":
                return None
            raise ValueError(f"{leaf.name}: is missing in the observation") from None

    def _state(self, state, rows):
        if state is None:
            return np.zeros((rows, self.state_size), np.float32)
        state = np.asarray(state, np.float32).reshape(-1, self.state_size)
        if len(state) != rows:
            raise ValueError(f"state: got {len(state)} rows; wanted {rows}")
        return state
