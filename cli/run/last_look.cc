#include "cli/run/last_look.h"

#include <utility>

namespace waggle {

void LastLook::Add(const RunFacts& facts) {
  const std::optional<RunFacts> before = std::exchange(newest_, facts);
  if (!before.has_value()) {
    return;
  }
  if (facts.table_max_items == 0) {  // A server that was stopped reports no tables.
    newest_->table_items = before->table_items;
    newest_->table_max_items = before->table_max_items;
    newest_->replay_servers_unheard = before->replay_servers_unheard;
  }
  if (!newest_->training_return.has_value()) {
    newest_->training_return = before->training_return;
  }
}

std::optional<RunFacts> LastLook::With(const RunSummary& summary) const {
  std::optional<RunFacts> facts = newest_;
  if (facts.has_value()) {
    facts->env_steps_per_s = summary.env_steps_per_s;
    facts->items_inserted_per_s = summary.items_inserted_per_s;
    facts->items_sampled_per_s = summary.items_sampled_per_s;
    facts->learner_steps_per_s = summary.learner_steps_per_s;
    facts->policy_lag_mean = summary.policy_lag_mean;
    facts->policy_lag_max = summary.policy_lag_max;
    if (facts->gradients.has_value()) {
      facts->gradients->pushed_per_s = summary.gradients_pushed_per_s;
    }
  }
  return facts;
}

}  // namespace waggle
