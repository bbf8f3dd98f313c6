#pragma once

#include <optional>

#include "cli/status/run_facts.h"
#include "common/hub/summary/run_summary.h"

namespace waggle {

// A run's facts when it ended: for each fact the last report of the process that knows it.
class LastLook {
 public:
  void Add(const RunFacts& facts);

  // The facts, with the means of the run's summary in place of momentary figures, which are no longer known. Nothing if
  // no process reported any.
  std::optional<RunFacts> With(const RunSummary& summary) const;

 private:
  std::optional<RunFacts> newest_;
};

}  // namespace waggle
