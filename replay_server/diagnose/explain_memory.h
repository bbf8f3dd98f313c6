#pragma once

#include <optional>

#include "replay_server/diagnose/explain_stall.h"

namespace waggle {

// Whether batches that are drawn wait for the memory that all batches on their way share: their table waits for nobody,
// and their samplers do.
std::optional<Beside> ExplainSampleMemory(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
