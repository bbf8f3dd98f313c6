#include "common/base/whole_number.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace waggle {
namespace {

// Removes and returns the digits at the start of `text`.
absl::string_view TakeDigits(absl::string_view* text) {
  size_t count = 0;
  while (count < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[count]))) {
    ++count;
  }
  const absl::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

}  // namespace

std::optional<int64_t> ParseWholeNumber(absl::string_view text) {
  constexpr int64_t kMostZeros = 18;  // After a digit, in an int64_t.
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) {
    absl::ConsumePrefix(&text, "+");
  }
  std::string digits(TakeDigits(&text));
  int64_t zeros = 0;  // Zeros after the digits; if negative, that many digits follow the point.
  if (absl::ConsumePrefix(&text, ".")) {
    const absl::string_view fraction = TakeDigits(&text);
    digits.append(fraction.data(), fraction.size());
    zeros -= static_cast<int64_t>(fraction.size());
  }
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    const bool divides = absl::ConsumePrefix(&text, "-");
    if (!divides) {
      absl::ConsumePrefix(&text, "+");
    }
    int32_t exponent = 0;
    if (!absl::SimpleAtoi(TakeDigits(&text), &exponent)) {
      return std::nullopt;
    }
    zeros += divides ? -exponent : exponent;
  }
  if (digits.empty() || !text.empty()) {
    return std::nullopt;
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++zeros;
  }
  if (digits.empty()) {
    return 0;
  }
  if (zeros < 0 || zeros > kMostZeros) {
    return std::nullopt;
  }
  digits.append(static_cast<size_t>(zeros), '0');
  int64_t value = 0;
  return absl::SimpleAtoi((negative ? "-" : "") + digits, &value) ? std::optional<int64_t>(value) : std::nullopt;
}

}  // namespace waggle
