#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// An evaluation and its evaluator. The time when it was finished identifies a repeated report.
struct DatedEvaluation {
  Evaluation evaluation;
  absl::Time finished;
  std::string worker_id;
};

// INVALID_ARGUMENT for an evaluation without an episode, or with numbers that are not finite or too large.
absl::Status Validate(const Evaluation& evaluation);

// The newest evaluations of a run. Pure logic; not thread-safe.
class EvaluationLog {
 public:
  // Adds an evaluation. False if its worker has sent it before: it repeats a report whose answer was lost.
  bool Add(const DatedEvaluation& dated);

  // Forgets when workers sent their last evaluation; the evaluations stay.
  void Forget(const std::string& worker_id) { last_of_.erase(worker_id); }
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);

  const std::deque<DatedEvaluation>& newest() const { return newest_; }  // Oldest first.
  uint64_t count() const { return count_; }                              // All added evaluations.

 private:
  std::deque<DatedEvaluation> newest_;
  uint64_t count_ = 0;
  std::map<std::string, absl::Time> last_of_;  // By worker.
};

}  // namespace waggle
