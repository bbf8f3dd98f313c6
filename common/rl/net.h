#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/nn/network.h"
#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"
#include "common/rl/distribution.h"
#include "common/rl/observations.h"

namespace waggle {

// What a network gives for rows of observations, by its heads. Each is [rows, …], or [members, rows, …] where the plan
// has members; "rows" are the leading dimensions of the observations, of which there may be several ([T, rows]). Asking
// for a head that the plan does not have, or as another kind than it is, is a c10::Error.
class Output {
 public:
  // `plan` outlives it.
  Output(const NetworkPlan* plan, std::vector<Network::HeadOutput> heads, torch::Tensor mask,
         torch::Tensor core_state = {})
      : plan_(plan), heads_(std::move(heads)), mask_(std::move(mask)), core_state_(std::move(core_state)) {}

  // [rows, choices]: a discrete action's values. Those of illegal choices are -1e9; where none is legal, all count.
  torch::Tensor q(absl::string_view head = "q") const;
  // [rows].
  torch::Tensor value(absl::string_view head = "value") const;
  // [rows, dimensions]: of a deterministic head, in (-1, 1).
  torch::Tensor action(absl::string_view head = "action") const;
  // Of a categorical, normal, tanh-normal or mixed head.
  Distribution policy(absl::string_view head = "policy") const;

  const NetworkPlan& plan() const { return *plan_; }
  // True where a choice is legal, [rows, choices of all elements of the joint action]; undefined where the environment
  // has no mask.
  const torch::Tensor& mask() const { return mask_; }
  // Of an unroll, after its last step: [rows, state_size]. Of a network without a core what it was given.
  const torch::Tensor& core_state() const { return core_state_; }

 private:
  const Network::HeadOutput& Head(absl::string_view name, const HeadPlan** plan) const;

  const NetworkPlan* plan_;
  std::vector<Network::HeadOutput> heads_;
  torch::Tensor mask_;
  torch::Tensor core_state_;
};

// What `network` makes of observations, each leaf [rows, …] or with more leading dimensions; and of actions, where it
// takes them. A c10::Error where the network has a core.
Output Forward(const Network& network, const Observations& observations, const torch::Tensor& action = {});

// The same over time, of a network with a core or without: each leaf is [T, rows, …], or [rows, …] of a single step.
// `first`, bool of the same leading dimensions: the row is an episode's first, before which its state is zero;
// undefined: none is. `core_state`: [rows, state_size] before the first step. Without a core the last two do nothing.
Output Unroll(const Network& network, const Observations& observations, const torch::Tensor& first,
              const torch::Tensor& core_state, const torch::Tensor& action = {});

// A network of an algorithm: what it learns, and the copy that follows it where the plan has one. Not thread-safe; may
// throw as LibTorch does.
class Net {
 public:
  // `target` is null where the plan has none. The group is of `online`'s parameters.
  Net(std::unique_ptr<Network> online, std::unique_ptr<Network> target, std::unique_ptr<ParameterGroup> group)
      : online_(std::move(online)), target_(std::move(target)), group_(std::move(group)) {}

  Output operator()(const Observations& observations, const torch::Tensor& action = {}) const {
    return Forward(*online_, observations, action);
  }
  Output Unroll(const Observations& observations, const torch::Tensor& first, const torch::Tensor& core_state,
                const torch::Tensor& action = {}) const {
    return waggle::Unroll(*online_, observations, first, core_state, action);
  }

  // The copy that follows, called like the network itself; without one, the network. Of a copy no gradient flows to any
  // parameter, but to its inputs.
  class Target {
   public:
    explicit Target(const Network* network) : network_(network) {}
    Output operator()(const Observations& observations, const torch::Tensor& action = {}) const {
      return Forward(*network_, observations, action);
    }
    Output Unroll(const Observations& observations, const torch::Tensor& first, const torch::Tensor& core_state,
                  const torch::Tensor& action = {}) const {
      return waggle::Unroll(*network_, observations, first, core_state, action);
    }

   private:
    const Network* network_;
  };
  Target target() const { return Target(target_ != nullptr ? target_.get() : online_.get()); }

  // target <- rate * online + (1 - rate) * target: 1 copies. Nothing where there is none.
  void FollowTarget(double rate);

  ParameterGroup* group() const { return group_.get(); }
  Network& network() const { return *online_; }
  // Null where there is none.
  Network* target_network() const { return target_.get(); }

 private:
  const std::unique_ptr<Network> online_;
  const std::unique_ptr<Network> target_;
  const std::unique_ptr<ParameterGroup> group_;
};

}  // namespace waggle
