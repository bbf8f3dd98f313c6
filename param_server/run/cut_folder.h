#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"
#include "param_server/run/run_report.h"
#include "param_server/run/turn_order.h"

namespace waggle {

// A complete cut of a run.
struct CutFacts {
  uint64_t number = 0;  // Counts from 1.
  int64_t learner_steps = 0;
  int64_t env_steps = 0;
  absl::Time made;
};

// The hub's part of the cuts of a run (docs/cuts.md):
//
//     cuts/N/cut       the cut's facts and, in lock-step, its turns
//     cuts/N/hub       in lock-step: the run's record, see EncodeHubRecord
//     cuts/N/best/     in lock-step: the best weights, as hard links
//     cuts/restore     the cut that the run goes back to when it is next opened
//     cuts/restored    the newest return to a cut
//
// A cut is complete once its folder is there: the learner and the replay servers have made their parts before. All
// functions wait for the disk, and their errors name the file. Not thread-safe.
class CutFolder {
 public:
  struct Options {
    std::string folder;         // The run's, with its record and weights.
    std::string output_folder;  // The learner's part is in its folder cuts/N.
    int64_t keep = 1;           // The newest cuts that stay.
  };
  explicit CutFolder(Options options) : options_(std::move(options)) {}

  // The complete cuts, oldest first. Damaged ones are logged and left out.
  absl::StatusOr<std::vector<CutFacts>> List() const;

  // The state of a run in lock-step at a cut.
  struct LockStep {
    TurnState turns;
    std::string record;
    CounterSums counters;
  };
  // Makes the cut complete, then removes the oldest beyond `keep`; errors of that are only logged. Copies the best
  // weights for a run in lock-step: they must be on the disk.
  absl::Status Save(const CutFacts& facts, const std::optional<LockStep>& lock_step) const;

  // The run goes back to the cut when it is next opened. NOT_FOUND if there is no such cut.
  absl::Status RequestReturn(uint64_t cut) const;
  bool IsReturnRequested() const;
  // Goes back to the cut that was requested, if one was: later checkpoints and cuts are removed, and in lock-step the
  // record, the best weights and the figures become those of the cut. Can be repeated, and must be after a crash before
  // EndReturn. DATA_LOSS if a part is damaged, NOT_FOUND if one is missing, UNAVAILABLE while the learner of before
  // works. Returns true if the run has gone back.
  absl::StatusOr<bool> ReturnIfRequested() const;
  // The run has begun from the cut, or need not go back to it any more.
  absl::Status EndReturn() const;
  // The newest return to a cut; absent if there was none, or if it is forgotten.
  absl::StatusOr<std::optional<Restoration>> restoration() const;
  // All replay servers have gone back.
  absl::Status ForgetRestoration() const;
  // The turns of a run in lock-step at a cut. Absent if the cut has none.
  absl::StatusOr<std::optional<TurnState>> Turns(uint64_t cut) const;
  // The counters of a run in lock-step at a cut; empty if the cut has none.
  absl::StatusOr<CounterSums> Counters(uint64_t cut) const;

 private:
  // Removes the oldest cuts beyond `keep`, and leftovers of crashes.
  absl::Status Prune() const;
  // Removes a cut, so that a crash leaves all of it or nothing.
  absl::Status Remove(uint64_t cut) const;
  absl::Status Forget(const char* name) const;
  std::string Path(const std::string& name) const { return options_.folder + "/cuts/" + name; }
  absl::Status RestoreCheckpoint(uint64_t cut) const;
  absl::Status RestoreLockStep(uint64_t cut, int64_t metrics_bytes) const;

  const Options options_;
};

}  // namespace waggle
