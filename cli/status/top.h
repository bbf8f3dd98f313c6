#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// `waggle top`: on a terminal it redraws the screen until a stop or the key q; w, r and m choose the order of workers.
// Otherwise it prints it once. The hub may be away while the screen is shown; its error is then the first line.
// `input` and `output` are file descriptors. An error of the first answer is returned; DATA_LOSS if the output cannot
// be written.
absl::Status RunTop(const TopFlags& flags, const StopToken& stop, int input, int output);

}  // namespace waggle
