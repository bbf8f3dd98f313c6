#pragma once

#include <cstdint>
#include <iosfwd>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace waggle {

// A terminal's size in characters. 0: no terminal, and no pictures.
struct TerminalSize {
  int64_t columns = 0;
  int64_t lines = 0;
};

// Steps one lane of an environment by lines of `in` (see ReadTypedAction), or at random, until its episodes are over or
// `in` ends. Writes what it observes to `out`. A line that is not an action is reported on `errors`, and the next line
// is read. INVALID_ARGUMENT, NOT_FOUND or UNIMPLEMENTED for an environment that cannot be opened or filmed.
absl::Status Play(const PlayFlags& flags, const TerminalSize& terminal, std::istream* in, std::ostream* out,
                  std::ostream* errors);

}  // namespace waggle
