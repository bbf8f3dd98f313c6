#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "cli/status/cluster_client.h"
#include "cli/status/progress_view.h"
#include "cli/status/run_facts.h"
#include "common/config/experiment/experiment.h"

namespace waggle {

// Shows an experiment's progress, snapshot by snapshot: new events as lines that stay, the rest as a progress view. Not
// thread-safe.
class ProgressTeller {
 public:
  // `printer` must outlive this.
  explicit ProgressTeller(ProgressPrinter* printer) : printer_(printer) {}

  // Shows a snapshot, and returns its facts. `experiment` is absent if it is not known.
  RunFacts Tell(const ClusterSnapshot& snapshot, const std::optional<Experiment>& experiment,
                const ProgressContext& context);

 private:
  ProgressPrinter* const printer_;
  // Finish time, epoch, version. The time alone is not enough: evaluators' clocks differ, and may be set back.
  using EvaluationName = std::tuple<int64_t, uint64_t, uint64_t>;
  std::optional<std::set<EvaluationName>> evaluations_;  // In the last snapshot; absent before the first.
  std::string figures_unrecorded_;
  std::string waits_for_;
};

}  // namespace waggle
