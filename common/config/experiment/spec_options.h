#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The environment whose spec is in the configuration (`environment.spec:`); every other one brings its own.
inline constexpr char kNullEnvironment[] = "Null-v1";

// An element of `observations:` or `actions:`: a leaf. Keys that have no meaning for its kind are unknown.
struct LeafOptions {
  std::string name;
  SpaceKind kind = SpaceKind::kBox;
  std::string dtype = "float32";    // A box's.
  std::vector<int64_t> shape;       // A box's or a multi-binary leaf's.
  std::optional<double> low, high;  // For all elements of a box; absent: unbounded.
  std::vector<int64_t> num_values;  // The choices of a discrete leaf, or of each element of a multi-discrete one.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
  // The leaf, valid or not.
  SpaceLeaf Leaf() const;
};

// An element of `rewards:`: one for each agent.
struct RewardOptions {
  std::string name = kRewardRoot;
  std::vector<int64_t> shape;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `environment.spec:` — Null-v1's observations, actions and rewards. By default the frames and the choices of an Atari
// game.
struct SpecOptions {
  std::vector<LeafOptions> observations = {
      {kObservationRoot, SpaceKind::kBox, "uint8", {4, 84, 84}, 0, 255, {}},
  };
  std::vector<LeafOptions> actions = {{kActionRoot, SpaceKind::kDiscrete, "int64", {}, {}, {}, {6}}};
  std::vector<RewardOptions> rewards = {RewardOptions()};
  int64_t max_episode_steps = 1000;  // Every episode is truncated after this many.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return Spec().Validate(); }
  // The spec of kNullEnvironment.
  EnvironmentSpec Spec() const;
};

}  // namespace waggle
