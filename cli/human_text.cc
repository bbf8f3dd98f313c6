#include "cli/human_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {

std::string ShortNumber(double value) {
  const char* const units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  const char* unit_name = units[unit];
  if (unit == 0) {
    return value == std::floor(value) || value >= 100 ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.1f", value);
  }
  return value >= 99.95   ? absl::StrFormat("%.0f%s", value, unit_name)
         : value >= 9.995 ? absl::StrFormat("%.1f%s", value, unit_name)
                          : absl::StrFormat("%.2f%s", value, unit_name);
}

std::string ShortBytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1023.95 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%.0f B", bytes) : absl::StrFormat("%.1f %s", bytes, units[unit]);
}

std::string ShortDuration(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration));
  if (seconds < 60) {
    return absl::StrFormat("%.1f s", std::max(0.0, absl::ToDoubleSeconds(duration)));
  }
  if (seconds < 3600) {
    return absl::StrCat(seconds / 60, " m ", seconds % 60, " s");
  }
  return absl::StrCat(seconds / 3600, " h ", seconds / 60 % 60, " m");
}

std::string ShortAge(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  return seconds < 60          ? absl::StrCat(seconds, " s")
         : seconds < 3600      ? absl::StrCat(seconds / 60, " min")
         : seconds < 2 * 86400 ? absl::StrCat(seconds / 3600, " h")
                               : absl::StrCat(seconds / 86400, " d");
}

std::string Printable(absl::string_view text, size_t width) {
  std::string line;
  for (const char c : text) {
    line.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  if (line.size() > width) {
    line.resize(width);
    for (size_t i = width < 3 ? 0 : width - 3; i < width; ++i) {
      line[i] = '.';
    }
  }
  return line;
}

std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows, absl::string_view indent) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());  // Printable() keeps the length.
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, indent);
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&text, Printable(row[i]), std::string(last ? 0 : widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace waggle
