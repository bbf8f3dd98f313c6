#pragma once

#include "replay_server/diagnose/explain_stall.h"

namespace waggle {

// Why the first insert that waits, or the first batch, has to wait for others by the table's rules, where no deadlock
// is the reason. To be asked only where they do.
Finding ExplainInserts(const Stall& stall);
Finding ExplainSamples(const Stall& stall);

}  // namespace waggle
