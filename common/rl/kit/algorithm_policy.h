#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/config/spec/environment_spec.h"
#include "common/nn/torch.h"
#include "common/rl/kit/distribution.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"
#include "common/rl/kit/observations.h"

namespace waggle {

// The acting networks of an algorithm, always with the newest published weights, and where they act.
struct ActingNets {
  const EnvironmentSpec& environment;
  torch::Device device;
  int64_t slots = 1;  // Slots that may act, [0, slots): a slot is the policy's memory of one environment.
  std::map<std::string, NetView> nets;
  std::map<std::string, torch::Tensor> scalars = {};  // Learned numbers, without dimensions.

  // The plan must say that it acts.
  const NetView& net(const std::string& name) const {
    const auto it = nets.find(name);
    WAGGLE_CHECK(it != nets.end(), "a policy asked for a network that does not act by its own plan");
    return it->second;
  }
  // The same of a ScalarNeed.
  const torch::Tensor& scalar(const std::string& name) const {
    const auto it = scalars.find(name);
    WAGGLE_CHECK(it != scalars.end(), "a policy asked for a scalar that does not act by its own plan");
    return it->second;
  }
};

// The rows of a step in which some slots act.
struct ActingRows {
  const Observations& observation;  // [rows, …] a leaf, on the networks' device.
  torch::Tensor slots;              // [rows], int64, distinct, on that device.
  torch::Tensor first;              // [rows], bool, on that device: the observation begins an episode.
  // The most likely action is wanted: nothing may be drawn.
  bool greedy = false;
  Noise* noise = nullptr;  // On that device.
};

// A policy's decisions for rows: values or an action, and columns.
struct Acted {
  // [rows, choices]: of a discrete action, or of all elements of an action of choices, side by side. The exploration
  // and the best choices decide.
  torch::Tensor values = {};
  // [rows, …]: as the distributions define actions; real elements are in [-1, 1]. The exploration may change it.
  torch::Tensor action = {};
  // The distribution of `action`, for the column "log_prob" of the action that the exploration leaves.
  std::optional<Distribution> policy = {};
  // True for legal choices, as Output::mask(); undefined if all are.
  torch::Tensor mask = {};
  // The plan's columns and private columns by name, [rows, …]. "q_taken" and "q_max" follow from `values`.
  std::map<std::string, torch::Tensor> columns = {};
};

// The actor's half of an algorithm that does not act by one head of one network. Actors, evaluators and a learner that
// computes actions all use it. One thread; may throw as LibTorch does.
class AlgorithmPolicy {
 public:
  virtual ~AlgorithmPolicy() = default;

  virtual Acted Act(const ActingRows& rows) = 0;

  // Gives it the actions that the exploration has left, [rows, …], for memory by slot.
  virtual void NoteTaken(const ActingRows& /*rows*/, const torch::Tensor& /*action*/) {}

  // Adds the columns that depend on these actions. Called after NoteTaken.
  virtual void AddColumns(const ActingRows& /*rows*/, const torch::Tensor& /*action*/, Acted* /*acted*/) {}

  // True if Act differentiates by its inputs. Networks' parameters have no gradients in any case.
  virtual bool differentiates() const { return false; }
};

}  // namespace waggle
