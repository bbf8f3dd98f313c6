#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/table/table_config.h"

namespace waggle {

// A configuration with changes such as {"rate_limiter.max_difference", "900"}; "null" removes a value.
// INVALID_ARGUMENT, with all problems, for unknown keys, for keys that cannot be changed while the table is in use, for
// values of another type, and for values that make the configuration wrong.
absl::StatusOr<TableConfig> WithChanges(const TableConfig& config,
                                        const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace waggle
