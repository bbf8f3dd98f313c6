#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/replay/ports/replay.h"
#include "common/rl/checkpoint/checkpoint_contents.h"

namespace waggle {

// Makes the learner's and the replay servers' parts of cuts (docs/cuts.md). The learner rests while the servers fix
// their state, so that no sample and no priority of a later step is in the cut. Actors write on meanwhile.
//
// A cut that could not be made is reported to the hub, and training goes on. Used by one thread.
class CutMaker {
 public:
  struct Options {
    ReplayConnection* replay = nullptr;  // Outlives this, as does the hub.
    HubLink* hub = nullptr;
    std::string output_folder;  // The learner's parts are in its folders cuts/N.
  };
  explicit CutMaker(const Options& options);
  // Waits for the part that is being written.
  ~CutMaker();

  // Outside of lock-step, called between two steps: the cut that must be made now; 0: none. Before that the servers
  // save what they have in the background, so that the learner does not rest for long.
  uint64_t Due();

  // Makes the cut. `capture` returns the learner's state. The learner's part is written in the background.
  void Make(uint64_t cut, absl::FunctionRef<absl::StatusOr<CheckpointContents>()> capture, const StopToken& stop);

  // The same in lock-step: returns once all parts are on the disks. The servers' tables then go on as if they had been
  // restored, and so must the learner. An error is reported, too.
  absl::Status MakeInLockStep(uint64_t cut, absl::FunctionRef<absl::StatusOr<CheckpointContents>()> capture,
                              const StopToken& stop);
  // This learner cannot make its part, for this reason.
  void ReportFailure(uint64_t cut, const absl::Status& why) const { Report(cut, 0, why); }

 private:
  absl::Status SaveReplay(uint64_t cut, bool begin_anew, const StopToken& stop) const;
  absl::Status Write(uint64_t cut, const CheckpointContents& contents) const;
  void Report(uint64_t cut, int64_t learner_steps, const absl::Status& status) const;

  const Options options_;
  const StopToken closing_;
  absl::Time next_look_ = absl::InfinitePast();
  uint64_t preparing_ = 0;
  uint64_t made_ = 0;
  std::atomic<uint64_t> prepared_{0};  // The cut for which the servers have saved what they had.
  Executor background_;                // Last: its tasks use the members above.
};

}  // namespace waggle
