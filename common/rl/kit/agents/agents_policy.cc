#include "common/rl/kit/agents/agents_policy.h"

#include <map>
#include <utility>

#include "common/base/check.h"
#include "common/rl/kit/batches.h"

namespace waggle {
namespace {

using torch::Tensor;

// Parts of all agents' actions, by the name of the action's leaf.
using ByLeaf = std::map<std::string, Tensor>;

// Puts numbers of choices, [rows, choices of all elements], side by side in the order of a joint action. `missing`
// gives those of an action that is not there.
template <class Missing>
Tensor SideBySide(const EnvironmentSpec& environment, const JointAction& action, const ByLeaf& by_leaf,
                  const Missing& missing) {
  std::vector<Tensor> parts;
  for (const JointAction::Part& part : action.parts) {
    if (part.choices > 0) {
      const auto found = by_leaf.find(environment.actions[part.leaf].array.name);
      parts.push_back(found == by_leaf.end() ? missing(part.choices) : found->second);
    }
  }
  return torch::cat(parts, -1);
}

}  // namespace

AgentsPolicy::AgentsPolicy(ActingNets nets, const std::string& network, bool share)
    : nets_(std::move(nets)), action_(JointActionOf(nets_.environment)) {
  const absl::StatusOr<std::vector<AgentGroup>> groups = AgentGroups(nets_.environment, share);
  WAGGLE_CHECK(groups.ok(), "the plan has checked that agents can share");
  for (const AgentGroup& group : *groups) {
    for (const std::string& name : group.agents) {
      AgentView view = ViewOf(nets_.environment, name);
      JointAction action = JointActionOf(view.spec);
      agents_.push_back({name, std::move(view), std::move(action), nets_.net(group.NetworkName(network))});
    }
  }
}

Acted AgentsPolicy::Act(const ActingRows& rows) {
  const EnvironmentSpec& environment = nets_.environment;
  Acted all;
  ByLeaf values, actions, masks;
  for (const Agent& agent : agents_) {
    Observations observation;
    for (const size_t leaf : agent.view.leaves) {
      observation.push_back(rows.observation[leaf]);
    }
    Acted one = Decide(agent, {observation, rows.slots, rows.first, rows.greedy, rows.noise});
    const Tensor elements = one.action.defined() ? one.action.reshape({one.action.size(0), -1}) : one.action;
    int64_t choice = 0;
    for (const JointAction::Part& part : agent.action.parts) {
      const SpaceLeaf& leaf = agent.view.spec.actions[part.leaf];
      const std::string name = NameOf(agent.name, leaf.array.name);
      const auto choices = [&](const Tensor& numbers) { return numbers.narrow(-1, choice, part.choices); };
      if (one.values.defined()) {
        values[name] = choices(one.values);
      } else {
        actions[name] = elements.narrow(-1, part.first, part.elements);
      }
      if (one.mask.defined() && part.choices > 0) {
        masks[name] = choices(one.mask);
      }
      choice += part.choices;
    }
    for (auto& [column, numbers] : one.columns) {
      all.columns[NameOf(agent.name, column)] = std::move(numbers);
    }
  }
  const int64_t count = rows.slots.size(0);
  if (!masks.empty()) {
    all.mask = SideBySide(environment, action_, masks, [&](int64_t choices) {
      return torch::ones({count, choices}, masks.begin()->second.options());
    });
  }
  if (!values.empty()) {
    all.values = SideBySide(environment, action_, values, [](int64_t) { return Tensor(); });
  } else {
    all.action = JointActions(environment, 1, [&](const std::string& name) { return actions.at(name); });
    all.action = action_.is_scalar ? all.action.squeeze(-1) : all.action;
  }
  return all;
}

Acted AgentsPolicy::Decide(const Agent& agent, const ActingRows& rows) {
  const Output out = agent.net(rows.observation);
  Acted acted;
  acted.mask = out.mask();
  if (agent.net.plan().FindHead("q") != nullptr) {
    acted.values = out.q();
    return acted;
  }
  const Distribution policy = out.policy();
  if (rows.greedy) {
    acted.action = policy.Mode();
  } else {
    SampledAction sampled = policy.Sample(rows.noise);
    acted.action = std::move(sampled.action);
    acted.columns["log_prob"] = std::move(sampled.log_prob);
  }
  return acted;
}

}  // namespace waggle
