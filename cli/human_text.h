#pragma once

#include <string>

#include "absl/time/time.h"

namespace waggle {

// Figures as people read them.

// "12.3k", "1.25M": three digits.
std::string ShortNumber(double value);

// "512 B", "18.3 KiB", "4.0 GiB".
std::string ShortBytes(double bytes);

// "3.2 s", "5 m 10 s", "2 h 5 m".
std::string ShortDuration(absl::Duration duration);

}  // namespace waggle
