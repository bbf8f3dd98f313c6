#pragma once

#include <memory>
#include <utility>

#include "actor/environments/rpc/served_worlds.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/check.h"

namespace waggle::fuzz {

// Null-v1 with leaves of every kind and short episodes.
inline EnvironmentOptions Spaces() {
  EnvironmentOptions options;
  options.name = kNullEnvironment;
  options.spec.observations = {{"observation/camera", SpaceKind::kBox, "uint8", {2, 2}, 0, 255, {}},
                               {"observation/place", SpaceKind::kBox, "float64", {2}, {}, {}, {}}};
  options.spec.actions = {{"action/move", SpaceKind::kMultiDiscrete, "int64", {}, {}, {}, {3, 4}},
                          {"action/turn", SpaceKind::kBox, "float32", {2, 2}, -2, 6, {}},
                          {"action/lamps", SpaceKind::kMultiBinary, "bool", {2}, {}, {}, {}},
                          {"action/level", SpaceKind::kBox, "int16", {}, -300, 300, {}}};
  options.spec.max_episode_steps = 3;
  return options;
}

inline const EnvironmentDefinition* NullDefinition() {
  static const auto* const definitions = new EnvironmentDefinitions(BuiltinEnvironments());
  const auto found = definitions->Find(kNullEnvironment);
  WAGGLE_CHECK(found.ok(), "the environment is built in");
  return *found;
}

// A step with zeros as actions that requests all observations.
inline dm::StepRequest WholeStep(const dm::ActionObservationSpecs& specs) {
  dm::StepRequest step;
  for (const auto& [uid, spec] : specs.observations()) {
    step.add_requested_observations(uid);
  }
  for (const auto& [uid, spec] : specs.actions()) {
    const std::vector<int64_t> shape(spec.shape().begin(), spec.shape().end());
    InitTensor(spec.dtype(), shape, &(*step.mutable_actions())[uid]);
  }
  return step;
}

}  // namespace waggle::fuzz
