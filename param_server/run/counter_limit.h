#pragma once

namespace waggle {

// Larger counters of workers are refused, and sums of them end here: up to 2^53 every whole number is exact in a double
// and fits into any 64-bit integer.
constexpr double kMaxCounter = 9007199254740992;

}  // namespace waggle
