#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/file.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/hub.h"
#include "param_server/run/evaluation_log.h"
#include "param_server/run/experiment_tracker.h"
#include "param_server/run/run_totals.h"
#include "param_server/run/worker_table.h"

namespace waggle {

// The data of a run that survive its hub.
struct HubRecord {
  uint64_t last_epoch = 0;  // The largest epoch of a learner.
  // By role and index: the number of lives that actors or evaluators of this seat were given.
  std::map<std::pair<Role, int64_t>, uint64_t> lives;
  std::string experiment_yaml;  // Empty: there is no experiment.
  RunProgress progress;         // Meaningless without an experiment.
  std::optional<DatedEvaluation> last_evaluation;
  RunTotals totals;

  friend bool operator==(const HubRecord& a, const HubRecord& b);
  friend bool operator!=(const HubRecord& a, const HubRecord& b) { return !(a == b); }
};

// The record as the text of a file, and back. Format: the line "waggle hub 2 CHECKSUM", then lines "key value", then
// the line "experiment" and the experiment's YAML up to the end. CHECKSUM is XXH3-64 of the following lines, in hex.
std::string EncodeHubRecord(const HubRecord& record);
// DATA_LOSS for a text that did not come from EncodeHubRecord.
absl::StatusOr<HubRecord> DecodeHubRecord(absl::string_view text);

// A result as one line, and back. Absent for a line that did not come from EncodeRunResult.
std::string EncodeRunResult(const RunResult& result);
std::optional<RunResult> DecodeRunResult(const std::string& line);

// Saves the record in a folder, which it locks against other hubs. Thread-safe.
class HubState {
 public:
  // Makes the folder if it is missing, locks it and reads its record. UNAVAILABLE if another hub uses the folder;
  // DATA_LOSS if the record is damaged; an error that names the folder if it cannot be made or written to.
  static absl::StatusOr<std::unique_ptr<HubState>> Open(const std::string& folder);

  // Reads the record in a folder without locking it, so that another hub may use the folder. Empty if there is none;
  // DATA_LOSS if it is damaged.
  static absl::StatusOr<HubRecord> Read(const std::string& folder);
  // The record's file in a folder.
  static std::string FileIn(const std::string& folder);

  HubRecord record() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As in the record, but never waits for the disk.
  uint64_t last_epoch() const { return last_epoch_; }

  // Changes the record and waits until the change will survive a power cut. After an error the record is as before.
  // Nothing is written if `change` changes nothing.
  absl::Status Update(const std::function<void(HubRecord*)>& change) ABSL_LOCKS_EXCLUDED(mutex_);

  // Records the experiment of the folder. FAILED_PRECONDITION if it holds another one.
  absl::Status Adopt(const std::string& experiment_yaml) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the next epoch for a learner, larger than all before.
  absl::StatusOr<uint64_t> TakeEpoch() ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives an epoch to a learner and a life to an actor or evaluator, unless the worker brings one, and saves it so that
  // no other worker gets it. FAILED_PRECONDITION for an epoch that was not given; UNAVAILABLE if a life is not saved.
  absl::Status Number(Role role, int64_t index, WorkerArrival* arrival) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  HubState(std::string folder, File lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  const std::string folder_;
  const File lock_;
  mutable Mutex mutex_;
  HubRecord record_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> last_epoch_{0};  // Atomic because mutex_ is held while the disk writes.
};

}  // namespace waggle
