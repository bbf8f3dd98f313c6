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
#include "common/rl/kit/distribution.h"
#include "common/rl/kit/observations.h"

namespace waggle {

// A network's outputs for rows of observations, by head: [rows, …], or [members, rows, …] if the plan has members.
// "rows" are all leading dimensions of the observations. A missing head, or one of another kind, is a c10::Error.
class Output {
 public:
  // `plan` must outlive it.
  Output(const NetworkPlan* plan, std::vector<Network::HeadOutput> heads, torch::Tensor mask,
         torch::Tensor core_state = {})
      : plan_(plan), heads_(std::move(heads)), mask_(std::move(mask)), core_state_(std::move(core_state)) {}

  // [rows, choices]: a discrete action's values. Illegal choices have -1e9, unless none is legal.
  torch::Tensor q(absl::string_view head = "q") const;
  // [rows].
  torch::Tensor value(absl::string_view head = "value") const;
  // [rows, dimensions] in (-1, 1), of a deterministic head.
  torch::Tensor action(absl::string_view head = "action") const;
  // For a categorical, normal, tanh-normal or mixed head.
  Distribution policy(absl::string_view head = "policy") const;

  const NetworkPlan& plan() const { return *plan_; }
  // True for legal choices, [rows, choices of all elements of the joint action]; undefined without masks.
  const torch::Tensor& mask() const { return mask_; }
  // After the last step of an unroll, [rows, state_size]. Without a core the state that was given.
  const torch::Tensor& core_state() const { return core_state_; }

 private:
  const Network::HeadOutput& Head(absl::string_view name, const HeadPlan** plan) const;

  const NetworkPlan* plan_;
  std::vector<Network::HeadOutput> heads_;
  torch::Tensor mask_;
  torch::Tensor core_state_;
};

// Applies `network` to observations, each leaf [rows, …] or with more leading dimensions, and to actions if it takes
// them. A c10::Error if it has a core.
Output Forward(const Network& network, const Observations& observations, const torch::Tensor& action = {});

// The same over time, with or without a core. Leaves are [T, rows, …], or [rows, …] for a single step. `first`, bool of
// these dimensions, marks rows that begin an episode, whose state is zero; undefined if none does. `core_state` is
// [rows, state_size] before the first step. Without a core both are ignored.
Output Unroll(const Network& network, const Observations& observations, const torch::Tensor& first,
              const torch::Tensor& core_state, const torch::Tensor& action = {});

// A learned network of an algorithm, and its target if the plan has one. Not thread-safe; may throw as LibTorch does.
class Net {
 public:
  // `target` may be null. `group` must be of `online`'s parameters.
  Net(std::unique_ptr<Network> online, std::unique_ptr<Network> target, std::unique_ptr<ParameterGroup> group)
      : online_(std::move(online)), target_(std::move(target)), group_(std::move(group)) {}

  Output operator()(const Observations& observations, const torch::Tensor& action = {}) const {
    return Forward(*online_, observations, action);
  }
  Output Unroll(const Observations& observations, const torch::Tensor& first, const torch::Tensor& core_state,
                const torch::Tensor& action = {}) const {
    return waggle::Unroll(*online_, observations, first, core_state, action);
  }

  // The target, or the network if there is none, called likewise. Passes gradients to inputs, but not to parameters.
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

  // target <- rate * online + (1 - rate) * target: 1 copies. Does nothing without a target.
  void FollowTarget(double rate);

  ParameterGroup* group() const { return group_.get(); }
  Network& network() const { return *online_; }
  // May be null.
  Network* target_network() const { return target_.get(); }

 private:
  const std::unique_ptr<Network> online_;
  const std::unique_ptr<Network> target_;
  const std::unique_ptr<ParameterGroup> group_;
};

}  // namespace waggle
