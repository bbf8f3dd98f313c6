#include "common/rl/kit/agents/agent_batches.h"

#include <utility>

#include "common/config/experiment/table_plans.h"
#include "common/config/plan/table_plan.h"
#include "common/config/spec/agent_view.h"

namespace waggle {

AgentBatches::AgentBatches(const EnvironmentSpec& environment, const std::vector<std::string>& agents,
                           const std::vector<std::string>& others, const std::vector<std::string>& columns,
                           bool team_reward)
    : agents_(agents.size()) {
  const std::vector<AgentView> views = ViewsOf(environment, agents, others);
  view_ = views[0].spec;
  for (size_t i = 0; i < agents.size(); ++i) {
    for (size_t leaf = 0; leaf < view_.observations.size(); ++leaf) {
      const std::string& name = view_.observations[leaf].array.name;
      const std::string& source = environment.observations[views[i].leaves[leaf]].array.name;
      sources_[name].push_back(source);
      sources_[NextName(name)].push_back(NextName(source));
    }
    const auto add_own = [&](const std::string& name) { sources_[name].push_back(NameOf(agents[i], name)); };
    for (const SpaceLeaf& action : view_.actions) {
      add_own(action.array.name);
    }
    for (const ArraySpec& reward : view_.rewards) {
      add_own(reward.name);
    }
    for (const std::string& column : columns) {
      add_own(column);
    }
  }
  for (const SpaceLeaf& leaf : environment.observations) {
    hidden_.insert(leaf.array.name);
    hidden_.insert(NextName(leaf.array.name));
  }
  for (const std::string& agent : AgentsOf(environment)) {
    for (const std::string& column : columns) {
      hidden_.insert(NameOf(agent, column));
    }
  }
  for (const SpaceLeaf& action : environment.actions) {
    hidden_.insert(action.array.name);
  }
  for (const ArraySpec& reward : environment.rewards) {
    hidden_.insert(reward.name);
    if (team_reward) {
      rewards_.push_back(reward.name);
    }
  }
}

TensorBatch AgentBatches::Of(const TensorBatch& batch) const {
  const auto joined = [](const std::vector<torch::Tensor>& parts) {
    return parts.size() == 1 ? parts[0] : torch::cat(parts);
  };
  const auto repeated = [&](const torch::Tensor& field) { return joined(std::vector<torch::Tensor>(agents_, field)); };
  TensorBatch seen;
  seen.size = batch.size * static_cast<int64_t>(agents_);
  seen.table_items = batch.table_items;
  for (const auto& [name, sources] : sources_) {
    if (batch.fields.count(sources[0]) == 0) {
      continue;  // Not in the view of this table.
    }
    std::vector<torch::Tensor> parts;
    for (const std::string& source : sources) {
      parts.push_back(batch.at(source));
    }
    seen.fields[name] = joined(parts);
  }
  for (const auto& [name, field] : batch.fields) {
    if (hidden_.count(name) == 0) {
      seen.fields[name] = repeated(field);
    }
  }
  if (!rewards_.empty()) {
    std::vector<torch::Tensor> rewards;
    for (const std::string& reward : rewards_) {
      rewards.push_back(batch.at(reward));
    }
    seen.fields[kReward] = repeated(torch::stack(rewards).mean(0));
  }
  return seen;
}

}  // namespace waggle
