#pragma once

#include <optional>
#include <string>

#include "replay_server/diagnose/explain_stall.h"

namespace waggle {

// Whether the disk refuses what the table is to keep, or is slow with it, or checkpoints fail.
std::optional<Beside> ExplainDisk(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
