#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
// "rows" are all leading dimensions of the observations, and then the samples of inputs that multiply. A missing head,
// or one of another kind, is a c10::Error.
class Output {
 public:
  // `plan` must outlive it.
  Output(const NetworkPlan* plan, std::vector<Network::HeadOutput> heads, torch::Tensor mask,
         torch::Tensor core_state = {})
      : plan_(plan), heads_(std::move(heads)), mask_(std::move(mask)), core_state_(std::move(core_state)) {}

  // [rows, choices]: a discrete action's values; for a head that gives distributions of values their expectations.
  // Illegal choices have -1e9, unless none is legal.
  torch::Tensor q(absl::string_view head = "q") const;
  // [rows, choices, atoms] of a categorical_q head: logarithms of the probabilities of AtomValues.
  torch::Tensor atoms(absl::string_view head = "q") const;
  // [rows, choices, quantiles] of a quantile_q head, [rows, quantiles] of a quantiles head, of any order.
  torch::Tensor quantiles(absl::string_view head = "q") const;
  // [rows, size] of a vector head.
  torch::Tensor vector(absl::string_view head) const;
  // [rows]: the mean of a value head's estimates.
  torch::Tensor value(absl::string_view head = "value") const;
  // [rows, size]: each of them.
  torch::Tensor values(absl::string_view head = "value") const;
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
  const torch::Tensor& Values(absl::string_view name, HeadKind kind) const;

  const NetworkPlan* plan_;
  std::vector<Network::HeadOutput> heads_;
  torch::Tensor mask_;
  torch::Tensor core_state_;
};

// The values of a categorical_q head's atoms, [atoms], of the type and device of `like`.
torch::Tensor AtomValues(const HeadPlan& head, const torch::Tensor& like);

// Applies `network` to observations, each leaf [rows, …] or with more leading dimensions, to actions if it takes them,
// and to the algorithm's own inputs. A c10::Error if it has a core.
Output Forward(const Network& network, const Observations& observations, const torch::Tensor& action = {},
               const ExtraInputs& extra = {}, ForwardPass pass = ForwardPass::kPlain);

// The same over time, with or without a core. Leaves are [T, rows, …], or [rows, …] for a single step. `first`, bool of
// these dimensions, marks rows that begin an episode, whose state is zero; undefined if none does. `core_state` is
// [rows, state_size] before the first step. Without a core both are ignored.
Output Unroll(const Network& network, const Observations& observations, const torch::Tensor& first,
              const torch::Tensor& core_state, const torch::Tensor& action = {}, const ExtraInputs& extra = {},
              ForwardPass pass = ForwardPass::kPlain);

// A network that is called and not changed. Copies share it. Not thread-safe; may throw as LibTorch does.
class NetView {
 public:
  // `network` must outlive it.
  explicit NetView(const Network* network, ForwardPass pass = ForwardPass::kPlain) : network_(network), pass_(pass) {}

  Output operator()(const Observations& observations, const torch::Tensor& action = {},
                    const ExtraInputs& extra = {}) const {
    return Forward(*network_, observations, action, extra, pass_);
  }
  Output Unroll(const Observations& observations, const torch::Tensor& first, const torch::Tensor& core_state,
                const torch::Tensor& action = {}, const ExtraInputs& extra = {}) const {
    return waggle::Unroll(*network_, observations, first, core_state, action, extra, pass_);
  }

  const NetworkPlan& plan() const { return network_->plan(); }

 private:
  const Network* network_;
  ForwardPass pass_;
};

// A network of an algorithm, and its target if the plan has one. Not thread-safe; may throw as LibTorch does.
class Net {
 public:
  // Optimizers by name, of the network's parameters; the network's own has the name "". Empty if it does not learn.
  using Groups = std::map<std::string, std::unique_ptr<ParameterGroup>, std::less<>>;

  // `target` may be null.
  Net(std::unique_ptr<Network> online, std::unique_ptr<Network> target, Groups groups)
      : online_(std::move(online)), target_(std::move(target)), groups_(std::move(groups)) {}

  Output operator()(const Observations& observations, const torch::Tensor& action = {},
                    const ExtraInputs& extra = {}) const {
    return Forward(*online_, observations, action, extra);
  }
  Output Unroll(const Observations& observations, const torch::Tensor& first, const torch::Tensor& core_state,
                const torch::Tensor& action = {}, const ExtraInputs& extra = {}) const {
    return waggle::Unroll(*online_, observations, first, core_state, action, extra);
  }

  // The network, called likewise, by operations that can be differentiated twice (UpdateContext::GradientGraph).
  NetView Differentiable() const { return NetView(online_.get(), ForwardPass::kByAutograd); }
  // The network, called likewise, with batch_norm layers that normalise by the batch. The plan needs
  // NetworkNeed::learns_by_batch.
  NetView Training() const { return NetView(online_.get(), ForwardPass::kTraining); }
  // The target, or the network if there is none, called likewise. Passes gradients to inputs, but not to parameters.
  NetView target() const { return NetView(target_ != nullptr ? target_.get() : online_.get()); }

  // Moves the running statistics of batch_norm layers, by which all others call the network, by those of the last call
  // of Training(), after the descent of its loss.
  void FollowBatch() { online_->FollowBatch(); }
  // target <- rate * online + (1 - rate) * target: 1 copies. Does nothing without a target.
  void FollowTarget(double rate);

  // The network's own optimizer, or that of this name in NetworkNeed::more_optimizers. It must exist.
  ParameterGroup* group(absl::string_view optimizer = "") const;
  const Groups& groups() const { return groups_; }
  Network& network() const { return *online_; }
  // May be null.
  Network* target_network() const { return target_.get(); }

 private:
  const std::unique_ptr<Network> online_;
  const std::unique_ptr<Network> target_;
  const Groups groups_;
};

}  // namespace waggle
