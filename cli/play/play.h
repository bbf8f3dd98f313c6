#pragma once

#include <cstdint>
#include <iosfwd>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace waggle {

// A terminal's size in characters; 0: there is none, and no pictures are shown.
struct TerminalSize {
  int64_t columns = 0;
  int64_t lines = 0;
};

// Steps one lane of an environment, by lines of `in` (see ReadTypedAction) or at random, until its episodes are over or
// `in` ends, and says on `out` what it shows. A line that is no action is told on `errors`, and another one is asked
// for. INVALID_ARGUMENT, NOT_FOUND or UNIMPLEMENTED for an environment that cannot be had or filmed.
absl::Status Play(const PlayFlags& flags, const TerminalSize& terminal, std::istream* in, std::ostream* out,
                  std::ostream* errors);

}  // namespace waggle
