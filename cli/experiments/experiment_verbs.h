#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The verbs that ask a hub about experiments; change.h has those that change them. Returned texts are for the standard
// output.

struct Submitted {
  std::string id;  // A group has that of its first member.
  std::string text;
  std::string standing;  // Why it waits, or the size of a group, for the standard error; may be empty.
};
// INVALID_ARGUMENT, with all problems, for a file that `waggle check` refuses, and to watch a group. `tell`: see
// ExperimentClient::Submit.
absl::StatusOr<Submitted> Submit(const SubmitFlags& flags, const StopToken& stop,
                                 const std::function<void(const std::string& line)>& tell = nullptr);

absl::StatusOr<std::string> AskList(const ListFlags& flags);

// The status of one experiment, or of the pool and all experiments. `flags` name a parameter server.
absl::StatusOr<std::string> AskStatus(const StatusFlags& flags);

// Writes an experiment's events to `out` as they come. CANCELLED after a stop. With flags.follow a hub that has
// answered may be away for `patience`.
absl::Status Logs(const LogsFlags& flags, const StopToken& stop, std::ostream* out,
                  absl::Duration patience = absl::Seconds(60));

// 130 after a stop, 2 for a user's mistake, 1 for other errors.
int ExperimentExitStatus(const absl::Status& status);

}  // namespace waggle
