#include "common/base/byte_size.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Sizes are read in bytes and in powers of 1024", "[unit]") {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0},
      {"1", 1},
      {"4294967296", int64_t{1} << 32},
      {"9223372036854775807", INT64_MAX},
      {"3K", 3 << 10},
      {"3KiB", 3 << 10},
      {"512M", 512 << 20},
      {"512MiB", 512 << 20},
      {"4G", int64_t{4} << 30},
      {"4GiB", int64_t{4} << 30},
      {"2T", int64_t{2} << 40},
      {"8388607TiB", int64_t{8388607} << 40},
  };
  for (const auto& [text, bytes] : cases) {
    INFO(text);
    const absl::StatusOr<int64_t> parsed = ParseByteSize(text);
    REQUIRE_OK(parsed.status());
    CHECK(*parsed == bytes);
  }
}

TEST_CASE("Text that is not a size is refused with the wanted forms", "[unit]") {
  for (const std::string text : {"", "-5", "+5", " 5", "5 ", "5 G", "much", "G", "1.5G", "4g", "4GB", "4KB", "4Gi",
                                 "0x10", "9223372036854775808", "8388608T", "99999999999999999999", "4G\n"}) {
    INFO(text);
    const absl::Status status = ParseByteSize(text).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK(absl::StartsWith(status.message(),
                           "got \"" + (text == "4G\n" ? "4G\\n" : text) + "\"; wanted a number of bytes"));
  }
}

}  // namespace
}  // namespace waggle
