#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

struct WorkerFigures;

// Sums of counters of actors, learners and replay servers, gone ones included, for a run's summary
// (common/hub/summary/run_counts.h). A restart of the hub does not change them. Pure logic; not thread-safe.
struct RunTotals {
  // By "ROLE/NAME", as figures are named: sums of counters, the earliest actor/first_env_step_unix_seconds and the
  // largest learner/policy_lag_max.
  std::map<std::string, double> all;
  // The parts of these sums, and of the run's steps, that were counted while no hub ran. Rates leave them out.
  std::map<std::string, double> unseen;
  // The last counters of workers that may report again, by worker and counter.
  std::map<std::string, std::map<std::string, double>> of;

  // `after_restart`: the first report to this hub of a worker of an earlier hub. Returns true if a sum has changed.
  bool Report(const std::string& worker_id, Role role, const WorkerFigures& figures, bool after_restart);
  // Forgets workers that will not report again. Their counters stay in the sums.
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);
};

}  // namespace waggle
