#include "common/rl/algorithms/value_based/update.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/config/spec/agent_view.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/qmix/qmix.h"
#include "common/rl/kit/agents/agent_batches.h"
#include "common/rl/kit/agents/agents_policy.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// The value of the team, [rows], from the agents' values, [rows, agents]: figure 2 of the paper.
template <class AnyNet>
Tensor Mixed(const AnyNet& mixer, const Observations& observation, const Tensor& values) {
  const Output out = mixer(observation);
  const Tensor first = out.vector("first_weights").abs().view({values.size(0), values.size(1), -1});
  const Tensor hidden = torch::elu(values.unsqueeze(1).bmm(first).squeeze(1) + out.vector("first_bias"));
  return (hidden * out.vector("second_weights").abs()).sum(-1) + out.vector("second_bias").squeeze(-1);
}

class Qmix : public Algorithm {
 public:
  Qmix(const QmixOptions& options, Model* model)
      : options_(options), mixer_(model->net("mixer")), mixer_follower_(options, &mixer_) {
    const EnvironmentSpec& environment = model->environment();
    const std::vector<std::string> agents = AgentsOf(environment);
    const absl::StatusOr<std::vector<AgentGroup>> groups = AgentGroups(environment, options.share);
    WAGGLE_CHECK(groups.ok(), "the plan has checked that agents can share");
    team_ = std::make_unique<AgentBatches>(environment, std::vector<std::string>{agents[0]},
                                           OthersOf(environment, agents[0]), std::vector<std::string>(),
                                           /*team_reward=*/true);
    for (const AgentGroup& group : *groups) {
      Net* const q = &model->net(group.NetworkName("q"));
      values_.push_back({AgentBatches(environment, group.agents, {}, {}, /*team_reward=*/false),
                         q,
                         {options, q},
                         static_cast<int64_t>(group.agents.size())});
      groups_.push_back(q->group());
    }
    groups_.push_back(mixer_.group());
  }

  void Update(const Batches& batches, UpdateContext* context) override {
    const TensorBatch team = team_->Of(batches.only());
    const Transitions t =
        TransitionsOf(team_->InView(team), options_.discount, options_.ImportanceExponentAt(context->progress()));
    std::vector<Tensor> taken, next;  // [agents, rows] of each network.
    for (const Values& values : values_) {
      const TensorBatch seen = values.batches.Of(batches.only());
      const Transitions own = TransitionsOf(values.batches.InView(seen), options_.discount);
      const Net& q = *values.net;
      taken.push_back(ValuesOfChoices(q(own.observation).q(), own.action).view({values.agents, -1}));
      const torch::NoGradGuard no_grad;
      const Tensor best = ValuesOfBest(q.target()(own.next_observation).q(), q(own.next_observation).q());
      next.push_back(best.view({values.agents, -1}));
    }
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      target =
          Bootstrapped(t.n_step_return, t.bootstrap, Mixed(mixer_.target(), t.next_observation, torch::cat(next).t()));
    }
    const Tensor value = Mixed(mixer_, t.observation, torch::cat(taken).t());
    const Tensor error = value - target;
    if (context->DescendAll((t.weight * error.square()).mean(), groups_)) {
      for (Values& values : values_) {
        values.follower.Follow();
      }
      mixer_follower_.Follow();
    }
    context->SetPriorities(error.abs());
    context->Report("q_mean", value);
  }

  void VisitState(StateVisitor* visitor) override {
    mixer_follower_.VisitState(visitor);
    for (size_t i = 0; i < values_.size(); ++i) {
      visitor->Scope(absl::StrCat("values", i), [&] { values_[i].follower.VisitState(visitor); });
    }
  }

 private:
  // A network that gives choices values, and the number of agents that it serves.
  struct Values {
    AgentBatches batches;
    Net* net;
    TargetFollower follower;
    int64_t agents;
  };

  const QmixOptions options_;
  Net& mixer_;
  TargetFollower mixer_follower_;
  std::unique_ptr<AgentBatches> team_;  // The observations of all, with the team's reward.
  std::vector<Values> values_;
  std::vector<ParameterGroup*> groups_;  // All networks'.
};

class QmixPolicy : public AgentsPolicy {
 public:
  QmixPolicy(const QmixOptions& options, ActingNets nets) : AgentsPolicy(std::move(nets), "q", options.share) {}
};

}  // namespace

AlgorithmImplementation qmix_implementation() {
  return ImplementWithPolicy<Qmix, QmixPolicy, QmixOptions>();
}

}  // namespace waggle
