#pragma once

#include <optional>
#include <string>

#include "replay_server/table/explain_stall.h"

namespace waggle {

// What keeps people waiting, or is wrong, whatever the rate limiter says: it is told first.
struct Beside {
  Verdict verdict = Verdict::kFlowing;
  Finding finding;        // `why` is what the summary begins with.
  std::string who_could;  // Who could end it, in words; empty where nobody waits.
};

// Whether the disk refuses what the table is to keep, or is slow with it, or checkpoints fail.
std::optional<Beside> ExplainDisk(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
