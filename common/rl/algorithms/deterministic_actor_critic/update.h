#pragma once

#include "common/rl/algorithms/deterministic_actor_critic/definition.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The action of an actor as critics take it: the real one, or the probabilities of all choices, [rows, elements].
torch::Tensor ActionOf(const Output& actor);

// Taken actions in that form, for choices one-hot; NaN for a choice that there is not, so that the loss shows it.
torch::Tensor TakenActions(const torch::Tensor& action, const JointAction& joint);

// Critics' values of such actions, [members, rows]. They are linear in the probabilities of choices, so that taken
// choices, which are one-hot, teach them the values of all others.
torch::Tensor ValuesOf(const NetView& critic, const Observations& observation, const torch::Tensor& action);

// The squares that `action_penalty` weighs, [rows]: of a real action; of the logits of legal choices, less their mean.
torch::Tensor SquaresOf(const Output& actor);

// `x`, with each element of its gradient cut to the bound, at least 0 and broadcastable.
torch::Tensor WithGradientWithin(const torch::Tensor& x, const torch::Tensor& bound);

// The deterministic policy gradient (Silver et al. 2014, "Deterministic Policy Gradient Algorithms") from replayed
// transitions, with targets (Lillicrap et al. 2015, arXiv 1509.02971). The critics, one or several side by side, learn
//     y = r + gamma^n min_i Q'_i(s', mu'(s')),
// and the actor climbs Q(s, mu(s)). Algorithms replace parts. May throw as LibTorch does.
class DeterministicActorCritic : public Algorithm {
 public:
  // The model must be of a DeterministicActorCriticPlan of these options, and outlive it.
  DeterministicActorCritic(const DeterministicActorCriticOptions& options, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;

 protected:
  struct CriticLoss {
    torch::Tensor loss;      // [rows], before importance weights.
    torch::Tensor priority;  // [rows].
  };
  // The critics' loss. `taken` and `next` are the actions before and after the transitions. Here the squared errors.
  virtual CriticLoss Criticize(const Transitions& t, const torch::Tensor& taken, const torch::Tensor& next) const;

  // The loss of a TD error, Q - y, element by element.
  virtual torch::Tensor ErrorLoss(const torch::Tensor& error) const { return error.square(); }

  // The value of an action that the actor climbs, [rows]. Here the least of the critics'.
  virtual torch::Tensor Value(const Observations& observation, const torch::Tensor& action) const;

  // The actor's loss, [rows], for the value and the action that it chooses. `taken`: the recorded action.
  virtual torch::Tensor ActorLoss(const Transitions& /*t*/, const torch::Tensor& q, const torch::Tensor& /*action*/,
                                  const torch::Tensor& /*taken*/) const {
    return -q;
  }

  // The next action for the critics' target. Here the target actor's own.
  virtual torch::Tensor NextAction(const torch::Tensor& action, Noise* /*noise*/) const { return action; }

  // Asked once an update: true if the actor and the targets step too.
  virtual bool ActorSteps() { return true; }

  const Net& critic() const { return critic_; }

 private:
  void StepActor(const Transitions& t, const torch::Tensor& taken, bool critics_stepped, UpdateContext* context);

  const DeterministicActorCriticOptions options_;
  Net& actor_;
  Net& critic_;
};

}  // namespace waggle
