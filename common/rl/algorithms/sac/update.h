#pragma once

#include <cstdint>
#include <memory>

#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/algorithms/sac/soft_policy.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// SAC's update, also of algorithms that only act otherwise (oac). From sequences if a network has a core, or if the
// prior reads the action before.
class Sac : public Algorithm {
 public:
  // The model must be of a SoftActorCriticPlan of these options, and outlive it.
  Sac(const SacOptions& options, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;

 protected:
  // A scalar that joins the critics' loss; undefined if there is none. `taken`: the critics' values of the actions
  // taken, [critics, ...].
  virtual torch::Tensor CriticTerm(const SoftRows& /*rows*/, const torch::Tensor& /*taken*/,
                                   UpdateContext* /*context*/) const {
    return {};
  }

  const Net& actor() const { return actor_; }
  const Net& critic() const { return critic_; }

 private:
  void LearnTransitions(const Batches& batches, double importance_exponent, UpdateContext* context) const;
  void LearnSequences(const Batches& batches, int64_t burn_in, double importance_exponent,
                      UpdateContext* context) const;
  // The target critics' values of the policy, and what its entropy is worth, as many as rows.
  torch::Tensor SoftValue(const SoftRows& rows, UpdateContext* context) const;
  // Descends all losses, as means over rows with a true `learned`; undefined for all. Returns the critics' errors.
  torch::Tensor Learn(const SoftRows& rows, const torch::Tensor& action, const torch::Tensor& target,
                      const torch::Tensor& weight, const torch::Tensor& learned, UpdateContext* context) const;

  const SacOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
  const std::unique_ptr<SoftPolicy> policy_;
};

}  // namespace waggle
