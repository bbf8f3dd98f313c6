#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace waggle {

// Figures for people.

// "12.3k", "1.25M": three digits.
std::string ShortNumber(double value);

// "512 B", "18.3 KiB", "4.0 GiB".
std::string ShortBytes(double bytes);

// "3.2 s", "5 m 10 s", "2 h 5 m".
std::string ShortDuration(absl::Duration duration);

// "40 s", "3 min", "5 h", "12 d": in the unit that fits.
std::string ShortAge(absl::Duration age);

// A text of a process may hold any bytes, such as a terminal's control sequences. Only printable ASCII is left, one
// column a byte. A text of more than `width` columns ends in dots.
std::string Printable(absl::string_view text, size_t width = absl::string_view::npos);

// Rows of cells, printable, in columns as wide as their widest cell; each line begins with `indent`.
std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows, absl::string_view indent);

}  // namespace waggle
