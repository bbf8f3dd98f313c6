#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace waggle {

// How many environment steps a run had taken at a moment of the last minutes, from what its actors report now and then:
// between two reports an actor is taken to have stepped evenly. Bounded. Pure logic; not thread-safe.
class StepHistory {
 public:
  // An actor has taken `steps` since its report before. `now` never goes back.
  void Add(const std::string& worker_id, double steps, absl::Time now);

  // Forgets when actors reported that will not report again; their steps stay.
  void Forget(const std::string& worker_id) { last_report_.erase(worker_id); }
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);

  // Of `total` steps until now, those until `time`; nothing for a time too long ago. Lacks the steps of actors that
  // have not reported since then, so it is exact once all have.
  std::optional<double> Until(absl::Time time, double total) const;

 private:
  // Steps that an actor took in this time.
  struct Stretch {
    absl::Time from;
    absl::Time to;
    double steps = 0;
  };

  std::map<std::string, absl::Time> last_report_;
  std::deque<Stretch> stretches_;  // In the order of their ends.
  absl::Time forgotten_until_ = absl::InfinitePast();
};

}  // namespace waggle
