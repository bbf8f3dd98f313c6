#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/config/table/table_config.h"
#include "replay_server/selectors/priority_weight.h"
#include "replay_server/selectors/selector.h"

namespace waggle {

// The selectors of a valid configuration.
std::unique_ptr<Selector> NewSampler(const TableConfig& config);
std::unique_ptr<Selector> NewRemover(const TableConfig& config);

// INVALID_ARGUMENT if the priority is not finite, too large for a selector's sum, or negative without magnitudes.
absl::Status ValidatePriority(const TableConfig& config, double priority);

// The probability that one draw from `items` items with this `sum` (Selector::Sum) gives an item of this priority. Null
// if these do not determine it: fifo, lifo, heaps, and draws that favour the newest items.
std::optional<double> DrawProbability(const TableConfig& config, double priority, int64_t items, double sum);

// True if items can stay in their selectors when the configuration changes from one to the other.
bool SameSelectors(const TableConfig& a, const TableConfig& b);

}  // namespace waggle
