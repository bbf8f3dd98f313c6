#include "common/base/whole_number.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("whole numbers are read as people write them, exactly", "[unit]") {
  const std::vector<std::pair<std::string, int64_t>> cases = {
      {"0", 0},
      {"-0.0e5", 0},
      {"007", 7},
      {"+12", 12},
      {"-3", -3},
      {"1e9", 1'000'000'000},
      {"1E+6", 1'000'000},
      {"-2e3", -2000},
      {"1.5e3", 1500},
      {"0.001e3", 1},
      {"3.0", 3},
      {"5.", 5},
      {".5e1", 5},
      {"1200e-2", 12},
      {"9007199254740993", 9007199254740993},
      {"9.007199254740993e15", 9007199254740993},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"9.223372036854775807e18", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min()},
      {"922337203685477580700e-2", std::numeric_limits<int64_t>::max()},
  };
  for (const auto& [text, value] : cases) {
    INFO(text);
    CHECK(ParseWholeNumber(text) == value);
  }
}

TEST_CASE("text that is not a whole number of 64 bits has no value", "[unit]") {
  constexpr char kWrong[] =
      ",-,+,.,e5,.e5,1e,1e+,1.5,1e-3,15e-1,9.5e0,9223372036854775808,1e19,-1e19,1e99999999999999999999,"
      "1e-99999999999999999999,1e2147483648,0x10,1_000,1 000, 1,1 ,1e 3,1e3 ,--1,1.2.3,many,.inf,nan";
  for (const absl::string_view text : absl::StrSplit(kWrong, ',')) {
    INFO(text);
    CHECK_FALSE(ParseWholeNumber(text).has_value());
  }
}

}  // namespace
}  // namespace waggle
