#include "common/config/range.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/scalar_text.h"

namespace waggle {
namespace {

// A bound of whole numbers, within those of 64 bits.
std::string WholeText(double bound) {
  const double limit = 9223372036854775808.0;  // 2^63.
  return absl::StrCat(bound >= limit    ? std::numeric_limits<int64_t>::max()
                      : bound <= -limit ? std::numeric_limits<int64_t>::min()
                                        : static_cast<int64_t>(bound));
}

std::string Text(const char* kind, const Range& range, bool bounded_below, bool bounded_above,
                 const std::pair<std::string, std::string>& bounds) {
  const char* const least = range.above ? " > " : " >= ";
  if (bounded_below && bounded_above) {
    return absl::StrCat(kind, " in ", range.above ? "(" : "[", bounds.first, ", ", bounds.second, "]");
  }
  if (bounded_below) {
    return absl::StrCat(kind, least, bounds.first);
  }
  return bounded_above ? absl::StrCat(kind, " <= ", bounds.second) : std::string(kind);
}

}  // namespace

std::string Range::NumberText() const {
  const bool bounded = std::isfinite(low) || std::isfinite(high);
  return Text(bounded ? "a number" : "a finite number", *this, std::isfinite(low), std::isfinite(high),
              {waggle::NumberText(low), waggle::NumberText(high)});
}

std::string Range::IntegerText() const {
  return Text("an integer", *this, /*bounded_below=*/true, /*bounded_above=*/true, {WholeText(low), WholeText(high)});
}

}  // namespace waggle
