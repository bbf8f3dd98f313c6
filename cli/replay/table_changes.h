#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/table_config/table_config.h"

namespace waggle {

// A configuration with changes such as {"rate_limiter.max_difference", "900"} made to it; "null" where a value is to be
// none. INVALID_ARGUMENT, with all that is wrong, for keys that are unknown or that cannot be changed while the table
// is in use, and for values that are none of the key's type or make the configuration wrong.
absl::StatusOr<TableConfig> WithChanges(const TableConfig& config,
                                        const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace waggle
