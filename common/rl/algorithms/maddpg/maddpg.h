#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/spec/environment_spec.h"
#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// An entry of `algorithm.critics`, for the critic of the agent of its name.
struct CriticView {
  std::vector<std::string> sees;  // The other agents whose observations and actions it takes.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Multi-agent DDPG (Lowe et al. 2017, arXiv 1706.02275): each agent's actor sees its own observation, and climbs its
// critic, which takes the observations and actions of all. Choices are drawn by Gumbel's trick, and actors learn
// through a softmax in place of the draw. An agent may have several policies, one of which acts in an episode.
struct MaddpgOptions : public OffPolicyActorCriticOptions {
  bool share = false;                         // One actor and one critic for all agents, whose spaces must be equal.
  int64_t policies = 1;                       // Each agent has so many: K of section 4.3.
  std::map<std::string, CriticView> critics;  // By agent; one that is absent sees all.
  double temperature = 1;                     // The temperature of the softmax through which actors learn choices.
  // Weight of squares that actors descend: of a real action's elements, or of choices' logits less their mean; absent:
  // 0 for real actions, 0.001 for choices, as in the code of the paper.
  std::optional<double> action_penalty;

  MaddpgOptions();

  void Visit(ConfigVisitor& visitor) override;
};

// The agents whose observations and actions an agent's critic takes beside its own, in the order of OthersOf; also
// those without actions if it sees all.
std::vector<std::string> SeenByCritic(const MaddpgOptions& options, const EnvironmentSpec& environment,
                                      const std::string& agent);

// The policy that acts in an agent's episode, "AGENT/policy", if it has several.
inline constexpr char kPolicyColumn[] = "policy";

}  // namespace waggle
