#include "common/base/byte_size.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr std::pair<absl::string_view, int> kUnits[] = {{"", 0},   {"K", 10},   {"KiB", 10}, {"M", 20},  {"MiB", 20},
                                                        {"G", 30}, {"GiB", 30}, {"T", 40},   {"TiB", 40}};

}  // namespace

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    ++digits;
  }
  int64_t number = 0;
  if (absl::SimpleAtoi(text.substr(0, digits), &number)) {
    for (const auto& [unit, bits] : kUnits) {
      if (text.substr(digits) == unit && number <= (std::numeric_limits<int64_t>::max() >> bits)) {
        return number << bits;
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("got \"", absl::CHexEscape(text),
                                                 "\"; wanted a number of bytes, such as 4294967296, 512MiB or 4G (K, "
                                                 "M, G and T are powers of 1024)"));
}

}  // namespace waggle
