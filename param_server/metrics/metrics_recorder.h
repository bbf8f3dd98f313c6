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
#include "common/metrics/csv_writer.h"
#include "common/metrics/tensorboard_writer.h"
#include "param_server/metrics/run_figures.h"
#include "param_server/run/hub.h"

namespace waggle {

// Writes a run's figures over its environment steps: metrics.csv and a TensorBoard event file, with the same names.
// Neither steps nor seconds of these ever go back, also where a hub goes on with the file of one before it; an
// evaluation stands at the steps when its weights were published, and when it was finished. Not thread-safe.
class MetricsRecorder {
 public:
  // The folder is created where it is missing; a metrics.csv in it is continued. `known` is the hub as it begins: the
  // evaluations in it were recorded before.
  static absl::StatusOr<std::unique_ptr<MetricsRecorder>> Create(const std::string& folder, const HubOverview& known);

  struct Call {
    bool last = false;
    // In lock-step figures are of a turn: a last call has none, and what the hub itself counts, which depends on when
    // it is asked for weights, is left out.
    bool in_lock_step = false;
  };

  // Writes how the run stands, as far as something new was heard of it since the last call: a role of which no process
  // has sent a heartbeat since has no figures, but in lock-step. Seconds are the time of the run. Also writes the
  // evaluations that are new. A file that was removed begins anew. `wall` is the moment of the overview by the wall
  // clock. Nothing while there is no experiment, or nobody left to work on one that is over. After an error what could
  // not be written is kept and written with the next call, up to 16 MiB for each file. Beyond that, which the message
  // says, the figures of now are lost, and evaluations wait with the hub, which has the newest 1,000.
  absl::Status Record(const HubOverview& overview, absl::Time wall, const Call& call);

 private:
  MetricsRecorder(std::string folder, std::unique_ptr<CsvWriter> csv, uint64_t evaluations)
      : folder_(std::move(folder)), csv_(std::move(csv)), last_(csv_->begins_after()), evaluations_(evaluations) {}

  absl::Status ReopenRemoved();
  // Roles of which nothing was heard since this was called last.
  std::set<Role> TakeUnheard(const HubOverview& overview);
  // Whether all has been written that this run has to tell for now.
  bool IsAtRest(const HubOverview& overview);
  // Whether the figures were taken, to be written or kept: by both files, or by neither.
  bool Write(const CsvWriter::Position& position, absl::Time wall, const Figures& figures, absl::Status* status);

  const std::string folder_;
  std::unique_ptr<CsvWriter> csv_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;  // Null until there is something to write.
  CsvWriter::Position last_;                        // Of what was taken.
  double evaluation_seconds_ = 0;                   // Of the evaluation that was taken last.
  uint64_t evaluations_;                            // Taken, of those that the hub has had.
  // Of each role's processes whose figures are of now, by worker: when they were taken. As of the last call.
  std::map<Role, std::map<std::string, absl::Duration>> heard_;
  bool at_rest_ = false;
};

}  // namespace waggle
