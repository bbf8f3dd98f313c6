#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "cli/status/cluster_client.h"
#include "cli/status/progress_view.h"
#include "cli/status/run_facts.h"
#include "common/experiment/experiment.h"

namespace waggle {

// Tells how an experiment gets on, snapshot by snapshot: what is new in lines that stay, the rest as a progress view.
// Not thread-safe.
class ProgressTeller {
 public:
  // `printer` outlives this.
  explicit ProgressTeller(ProgressPrinter* printer) : printer_(printer) {}

  // The facts of a snapshot, which it shows. `experiment`: absent where it is not known.
  RunFacts Tell(const ClusterSnapshot& snapshot, const std::optional<Experiment>& experiment,
                const ProgressContext& context);

 private:
  ProgressPrinter* const printer_;
  // When it was finished, epoch, version. Not the time alone: evaluators' clocks differ, and may be set back.
  using EvaluationName = std::tuple<int64_t, uint64_t, uint64_t>;
  std::optional<std::set<EvaluationName>> evaluations_;  // At the last look; absent before the first.
  std::string figures_unrecorded_;
  std::string waits_for_;
};

}  // namespace waggle
