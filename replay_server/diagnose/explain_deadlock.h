#pragma once

#include <optional>

#include "replay_server/diagnose/explain_stall.h"

namespace waggle {

// Whether the batch that is waited for first can never come, whatever others do but change a setting; none if it can.
// To be asked only where that batch waits.
std::optional<Finding> FindDeadlock(const Stall& stall);

}  // namespace waggle
