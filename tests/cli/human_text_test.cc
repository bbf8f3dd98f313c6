#include "cli/human_text.h"

#include <utility>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Short numbers keep three digits", "[unit]") {
  const std::pair<double, const char*> cases[] = {{0, "0"},          {7, "7"},           {0.25, "0.2"},
                                                  {14.26, "14.3"},   {123.4, "123"},     {999.4, "999"},
                                                  {999.6, "1.00k"},  {1'234, "1.23k"},   {16'200, "16.2k"},
                                                  {198'432, "198k"}, {999'949, "1.00M"}, {3'160'000, "3.16M"},
                                                  {2.5e9, "2.50G"},  {-1'500, "-1.50k"}};
  for (const auto& [value, text] : cases) {
    CHECK(ShortNumber(value) == text);
  }
}

TEST_CASE("Bytes, durations and ages have the units that fit", "[unit]") {
  CHECK(ShortBytes(0) == "0 B");
  CHECK(ShortBytes(1023) == "1023 B");
  CHECK(ShortBytes(18'700) == "18.3 KiB");
  CHECK(ShortBytes(4.0 * (1 << 30)) == "4.0 GiB");
  CHECK(ShortDuration(absl::Seconds(-1)) == "0.0 s");
  CHECK(ShortDuration(absl::Seconds(310)) == "5 m 10 s");
  CHECK(ShortDuration(absl::Minutes(125)) == "2 h 5 m");
  CHECK(ShortAge(absl::Seconds(-5)) == "0 s");
  CHECK(ShortAge(absl::Seconds(200)) == "3 min");
  CHECK(ShortAge(absl::Hours(47)) == "47 h");
  CHECK(ShortAge(absl::Hours(49)) == "2 d");
}

TEST_CASE("Columns are as wide as their widest cell, and cannot control the terminal", "[unit]") {
  CHECK(AlignedColumns({{"a", "bcd", "e"}, {"fgh", "i", ""}, {"\x1b", "j", "k"}}, "> ") ==
        "> a    bcd  e\n"
        "> fgh  i    \n"
        "> ?    j    k\n");
  CHECK(AlignedColumns({}, "  ").empty());
}

}  // namespace
}  // namespace waggle
