#pragma once

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Figures of Metrics whose names begin with this are for the process's own exports: heartbeats, and so the figures of
// the run, are without them.
inline constexpr absl::string_view kProcessOnly = "process/";

inline bool IsProcessOnly(absl::string_view figure) {
  return absl::StartsWith(figure, kProcessOnly);
}

}  // namespace waggle
