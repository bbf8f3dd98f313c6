#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/config/spec/environment_spec.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"

namespace waggle {

// Reads the batches of an environment of several agents as some of them see it: as batches of one agent, for
// TransitionsOf, UnrollsOf and all that is made for these.
class AgentBatches {
 public:
  // For the views of `agents`, at least one, of which the first also sees `others` (ViewsOf). `columns` are the names
  // of the policy's columns that each agent has ("log_prob" for "agent_0/log_prob"). With a team's reward each agent's
  // is the mean of all agents'.
  AgentBatches(const EnvironmentSpec& environment, const std::vector<std::string>& agents,
               const std::vector<std::string>& others, const std::vector<std::string>& columns, bool team_reward);

  // The first agent's view.
  const EnvironmentSpec& view() const { return view_; }

  // [agents * rows] of each field of the view, the rows of each agent one after the other, under the names of the first
  // one's view; facts about items likewise. May throw as LibTorch does.
  TensorBatch Of(const TensorBatch& batch) const;

  // Such a batch, which must outlive it, as the input of an update.
  Batches InView(const TensorBatch& seen) const { return Batches(&view_, {{"", &seen}}); }

 private:
  size_t agents_;
  EnvironmentSpec view_;
  std::map<std::string, std::vector<std::string>> sources_;  // By a field of the view: the batch's, by agent.
  std::set<std::string> hidden_;                             // Fields of agents, in the batch.
  std::vector<std::string> rewards_;                         // The team's is their mean; empty: each agent has its own.
};

}  // namespace waggle
