#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

struct WorkerFigures;

// What a run's summary tells of what its workers have counted (common/hub/summary/run_counts.h), over all workers that
// ever were: neither a worker that goes nor a hub that is started again takes anything away. Pure logic; not
// thread-safe.
struct RunTotals {
  // By "ROLE/NAME", as figures are named: sums of counters, the earliest actor/first_env_step_unix_seconds and the
  // largest learner/policy_lag_max.
  std::map<std::string, double> all;
  // Parts of such sums, and of the run's steps, that were counted while there was no hub: that time is no time of the
  // run.
  std::map<std::string, double> unseen;
  // How much of the sums is from a worker that may report again, by the counter's name.
  std::map<std::string, std::map<std::string, double>> of;

  // `after_restart`: this is the first that a hub hears of a worker which an earlier hub knew. Returns whether anything
  // has changed.
  bool Report(const std::string& worker_id, Role role, const WorkerFigures& figures, bool after_restart);
  // Forgets workers that will not report again; what they counted stays.
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);
};

}  // namespace waggle
