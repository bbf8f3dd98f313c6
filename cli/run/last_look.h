#pragma once

#include <optional>

#include "cli/status/run_facts.h"
#include "common/summary/run_summary.h"

namespace waggle {

// How a run stood when it ended: what its processes said last, each about what it alone knows.
class LastLook {
 public:
  void Add(const RunFacts& facts);

  // With the means of the run's summary in place of momentary figures, which are no longer known. Nothing if nothing
  // was heard.
  std::optional<RunFacts> With(const RunSummary& summary) const;

 private:
  std::optional<RunFacts> newest_;
};

}  // namespace waggle
