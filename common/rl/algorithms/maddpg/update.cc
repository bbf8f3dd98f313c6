#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/config/spec/agent_view.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/maddpg/maddpg.h"
#include "common/rl/algorithms/maddpg/policy.h"
#include "common/rl/kit/agents/agent_batches.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// An action of each agent as critics take it, [rows, numbers]: real, or a number a choice.
using Actions = std::map<std::string, Tensor>;

class Maddpg : public Algorithm {
 public:
  Maddpg(const MaddpgOptions& options, Model* model) : options_(options) {
    const EnvironmentSpec& environment = model->environment();
    const std::vector<std::string> acting = AgentsOf(environment);
    const std::vector<std::string> columns(options.policies > 1 ? 1 : 0, kPolicyColumn);
    const absl::StatusOr<std::vector<AgentGroup>> groups = AgentGroups(environment, options.share);
    WAGGLE_CHECK(groups.ok(), "the plan has checked that agents can share");
    for (const AgentGroup& group : *groups) {
      learners_.push_back(
          {AgentBatches(environment, group.agents, SeenByCritic(options, environment, group.agents[0]), columns,
                        /*team_reward=*/false),
           group.agents,
           {},
           &model->net(group.NetworkName("actor")),
           &model->net(group.NetworkName("critic"))});
      for (const std::string& agent : group.agents) {
        std::vector<std::string>& others = learners_.back().others.emplace_back();
        for (const std::string& other : SeenByCritic(options, environment, agent)) {
          if (std::find(acting.begin(), acting.end(), other) != acting.end()) {
            others.push_back(other);
          }
        }
      }
    }
  }

  void Update(const Batches& batches, UpdateContext* context) override {
    Actions taken, next;
    std::vector<Step> steps;
    for (const Learner& learner : learners_) {
      steps.push_back(StepOf(learner, batches.only(), context->progress()));
      const Step& step = steps.back();
      const torch::NoGradGuard no_grad;
      AddActions(learner, step.taken, &taken);
      AddActions(learner, DrawnAction(learner.actor->target()(step.t.next_observation), step.policy, context->noise()),
                 &next);
    }
    Tensor priority = torch::zeros({batches.only().size}, steps[0].taken.options());
    for (size_t i = 0; i < learners_.size(); ++i) {
      const Learner& learner = learners_[i];
      const Tensor error = StepCritic(learner, steps[i], taken, next, context);
      StepActor(learner, steps[i], taken, context);
      priority += error.view({static_cast<int64_t>(learner.agents.size()), -1}).sum(0);
    }
    context->SetPriorities(priority / static_cast<double>(taken.size()));
  }

 private:
  // Agents with an actor and a critic in common.
  struct Learner {
    AgentBatches batches;
    std::vector<std::string> agents;
    std::vector<std::vector<std::string>>
        others;  // For each agent, those whose actions the critic takes after its own.
    Net* actor;
    Net* critic;
  };

  // The experience of a learner's agents, [agents * rows].
  struct Step {
    Transitions t;
    Tensor taken;   // As critics take it.
    Tensor policy;  // int64: the policy that acted.
  };

  Step StepOf(const Learner& learner, const TensorBatch& batch, const Progress& progress) const {
    const TensorBatch seen = learner.batches.Of(batch);
    Step step;
    step.t = TransitionsOf(learner.batches.InView(seen), options_.discount, options_.ImportanceExponentAt(progress));
    step.taken = TakenActions(step.t.action, learner.actor->network().plan().action).to(step.t.weight.scalar_type());
    step.policy = options_.policies > 1 ? seen.at(kPolicyColumn)
                                              .nan_to_num(0)
                                              .clamp(0, static_cast<double>(options_.policies - 1))
                                              .to(torch::kInt64)
                                        : torch::zeros({seen.size}, step.t.weight.options().dtype(torch::kInt64));
    return step;
  }

  static void AddActions(const Learner& learner, const Tensor& actions, Actions* by_agent) {
    const auto agents = static_cast<int64_t>(learner.agents.size());
    const std::vector<Tensor> parts = actions.chunk(agents);
    for (size_t i = 0; i < parts.size(); ++i) {
      (*by_agent)[learner.agents[i]] = parts[i];
    }
  }

  // The actions that the learner's critic takes, [agents * rows, numbers of all], with these own ones.
  static Tensor Together(const Learner& learner, const Tensor& own, const Actions& actions) {
    std::vector<Tensor> rows;
    for (size_t i = 0; i < learner.agents.size(); ++i) {
      std::vector<Tensor> seen = {own.chunk(static_cast<int64_t>(learner.agents.size()))[i]};
      for (const std::string& other : learner.others[i]) {
        seen.push_back(actions.at(other));
      }
      rows.push_back(torch::cat(seen, -1));
    }
    return torch::cat(rows);
  }

  // The logits of choices with Gumbel's noise: the largest is a draw from the policy.
  static Tensor Noisy(const Output& actor, const Tensor& policy, Noise* noise) {
    const Tensor logits = OfPolicy(actor.policy().LogProbabilities(), policy);
    return logits - (-noise->UniformLike(logits).clamp_min(1e-12).log()).log();
  }

  static bool IsReal(const Output& actor) { return actor.plan().heads[0].kind == HeadKind::kDeterministic; }

  static Tensor DrawnAction(const Output& actor, const Tensor& policy, Noise* noise) {
    if (IsReal(actor)) {
      return OfPolicy(actor.action(), policy);
    }
    const Tensor noisy = Noisy(actor, policy, noise);
    return torch::zeros_like(noisy).scatter_(-1, noisy.argmax(-1, /*keepdim=*/true), 1);
  }

  // (6): returns the errors.
  Tensor StepCritic(const Learner& learner, const Step& step, const Actions& taken, const Actions& next,
                    UpdateContext* context) const {
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      std::vector<Tensor> own;
      for (const std::string& agent : learner.agents) {
        own.push_back(next.at(agent));
      }
      const Tensor value =
          learner.critic->target()(step.t.next_observation, {}, {Together(learner, torch::cat(own), next)}).value();
      target = Bootstrapped(step.t.n_step_return, step.t.bootstrap, value);
    }
    const Tensor q = (*learner.critic)(step.t.observation, {}, {Together(learner, step.taken, taken)}).value();
    const Tensor error = q - target;
    context->Descend((step.t.weight * error.square()).mean(), learner.critic->group());
    context->Report("q_mean", q);
    return error.detach().abs();
  }

  // (5), for the policy of each row; section 4.3 gives each policy the rows of its own episodes.
  void StepActor(const Learner& learner, const Step& step, const Actions& taken, UpdateContext* context) const {
    const Output actor = (*learner.actor)(step.t.observation);
    const Tensor own = IsReal(actor) ? OfPolicy(actor.action(), step.policy)
                                     : (Noisy(actor, step.policy, context->noise()) / options_.temperature).softmax(-1);
    const Tensor q =
        NetView(&learner.critic->network())(step.t.observation, {}, {Together(learner, own, taken)}).value();
    const double penalty = options_.action_penalty.value_or(IsReal(actor) ? 0 : 0.001);
    const Tensor squares = OfPolicy(SquaresOf(actor), step.policy);
    if (context->Descend((step.t.weight * (penalty * squares - q)).mean(), learner.actor->group())) {
      learner.actor->FollowTarget(options_.target_update_rate);
      learner.critic->FollowTarget(options_.target_update_rate);
    }
  }

  const MaddpgOptions options_;
  std::vector<Learner> learners_;
};

}  // namespace

AlgorithmImplementation maddpg_implementation() {
  return ImplementWithPolicy<Maddpg, MaddpgPolicy, MaddpgOptions>();
}

}  // namespace waggle
