#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/csv_writer.h"
#include "common/base/metrics/tensorboard_writer.h"
#include "param_server/metrics/run_figures.h"
#include "param_server/run/hub.h"

namespace waggle {

// Writes a run's figures over its environment steps to metrics.csv and a TensorBoard event file, under the same names.
// The steps and seconds of figures never go back, even after a hub's restart. An evaluation has the steps at which its
// weights were published and the time at which it finished, which may lie before those of the row above. Not
// thread-safe.
class MetricsRecorder {
 public:
  // Creates a missing folder; continues a metrics.csv in it. The evaluations in `known`, the overview at the hub's
  // start, were recorded before.
  static absl::StatusOr<std::unique_ptr<MetricsRecorder>> Create(const std::string& folder, const HubOverview& known);

  struct Call {
    bool last = false;
    // In lock-step, figures belong to a turn, so a last call writes no figures. The hub's own counters are left out, as
    // they depend on the time of requests, and the numbers of replay servers' writers.
    bool in_lock_step = false;
  };

  // Writes the run's present figures, by its seconds, and its new evaluations. Leaves out a role without a heartbeat
  // since the last call, except in lock-step. Starts a removed file anew. `wall` is the overview's wall-clock time.
  // Does nothing without an experiment, or after its end if no actor, learner or evaluator is left. After an error,
  // unwritten data is kept for the next call, up to 16 MiB for each file. Beyond that, as the error says, present
  // figures are lost, and evaluations wait in the hub, which keeps the newest 1,000.
  absl::Status Record(const HubOverview& overview, absl::Time wall, const Call& call);

 private:
  MetricsRecorder(std::string folder, std::unique_ptr<CsvWriter> csv, uint64_t evaluations)
      : folder_(std::move(folder)), csv_(std::move(csv)), last_(csv_->begins_after()), evaluations_(evaluations) {}

  absl::Status ReopenRemoved();
  // Roles without a heartbeat since the last call.
  std::set<Role> TakeUnheard(const HubOverview& overview);
  // True if the run has nothing more to record for now.
  bool IsAtRest(const HubOverview& overview);
  // Returns true if both files took the figures, written or kept; otherwise neither did.
  bool Write(const CsvWriter::Position& position, absl::Time wall, const Figures& figures, absl::Status* status);

  const std::string folder_;
  std::unique_ptr<CsvWriter> csv_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;  // Null until there is something to write.
  CsvWriter::Position last_;                        // The last row's.
  double evaluation_seconds_ = 0;                   // The last evaluation's.
  uint64_t evaluations_;                            // Evaluations taken since this hub's start.
  // By role and worker: the time of the last heartbeat seen in the last call.
  std::map<Role, std::map<std::string, absl::Duration>> heard_;
  bool at_rest_ = false;
};

}  // namespace waggle
