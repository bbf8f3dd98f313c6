#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/table_config/table_config.h"
#include "replay_server/selectors/priority_weight.h"
#include "replay_server/selectors/selector.h"

namespace waggle {

// The selectors that a valid configuration asks for.
std::unique_ptr<Selector> NewSampler(const TableConfig& config);
std::unique_ptr<Selector> NewRemover(const TableConfig& config);

// INVALID_ARGUMENT for a priority that is not finite, that is negative where the table does not take magnitudes, or
// that one of the table's selectors cannot sum.
absl::Status ValidatePriority(const TableConfig& config, double priority);

// The probability that a single draw gives an item of this priority, of `items` with this sum (Selector::Sum). None
// where it does not follow from these: of fifo, lifo and heaps, and where the newest items are drawn more often.
std::optional<double> DrawProbability(const TableConfig& config, double priority, int64_t items, double sum);

}  // namespace waggle
