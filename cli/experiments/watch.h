#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command_line.h"
#include "cli/status/progress_view.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

struct WatchOptions {
  absl::Duration period = absl::Milliseconds(500);  // Between two snapshots.
  absl::Duration timeout = absl::Seconds(2);        // For one snapshot.
  absl::Duration json_period = absl::Seconds(2);    // Between two lines of JSON.
  // How long a hub that has answered may be away.
  absl::Duration patience = absl::Seconds(60);
  bool has_answered = false;  // The hub has answered the caller a moment ago.
};

// Shows an experiment's progress until it ends: on `printer`, or with flags.json as lines of `out`. Returns the exit
// status: 0 if it was solved, or reached a limit and has no target, 1 if it ended otherwise. CANCELLED after a stop;
// NOT_FOUND if there is no such experiment; another error if the hub does not answer the first time, or for too long.
absl::StatusOr<int> WatchExperiment(const WatchFlags& flags, const StopToken& stop, ProgressPrinter* printer,
                                    std::ostream* out, const WatchOptions& options = {});

}  // namespace waggle
