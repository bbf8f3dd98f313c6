#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/config/spec/agent_view.h"
#include "tests/support/algorithm_checks.h"

// Environments and batches of several agents, made of those of one.

namespace waggle::testing {

// Agents by name, each in an environment of its own.
using AgentEnvironments = std::map<std::string, EnvironmentSpec>;

// The environment in which they all are.
inline EnvironmentSpec Together(const AgentEnvironments& agents) {
  EnvironmentSpec together;
  together.name = "agents";
  together.rewards.clear();
  for (const auto& [agent, environment] : agents) {
    for (SpaceLeaf leaf : environment.observations) {
      leaf.array.name = NameOf(agent, leaf.array.name);
      together.observations.push_back(std::move(leaf));
    }
    for (SpaceLeaf leaf : environment.actions) {
      leaf.array.name = NameOf(agent, leaf.array.name);
      together.actions.push_back(std::move(leaf));
    }
    together.rewards.push_back(ArraySpec{NameOf(agent, kReward), DType::kFloat32, {}});
  }
  return together;
}

// Batches of them, by agent, as one: facts about steps and items are the first one's.
inline TensorBatch TogetherBatch(const std::map<std::string, TensorBatch>& batches) {
  TensorBatch together = batches.begin()->second;
  const TensorBatch first = together;
  for (const auto& [name, field] : first.fields) {
    if (name == kDiscount || name == kStepType || name.rfind("item/", 0) == 0) {
      continue;
    }
    together.fields.erase(name);
  }
  for (const auto& [agent, batch] : batches) {
    for (const auto& [name, field] : batch.fields) {
      if (name == kDiscount || name == kStepType || name.rfind("item/", 0) == 0) {
        continue;
      }
      const bool is_next = name.rfind("next_", 0) == 0;
      together.fields[is_next ? "next_" + NameOf(agent, name.substr(5)) : NameOf(agent, name)] = field;
    }
  }
  return together;
}

}  // namespace waggle::testing
