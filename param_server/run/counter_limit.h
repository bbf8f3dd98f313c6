#pragma once

namespace waggle {

// 2^53: whole numbers up to it are exact in a double. Larger counters are refused, and sums end here.
constexpr double kMaxCounter = 9007199254740992;

}  // namespace waggle
