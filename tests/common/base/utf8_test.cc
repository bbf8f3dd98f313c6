#include "common/base/utf8.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A text is cut between characters, whatever its bytes are", "[unit]") {
  const std::string text = "a\u20ac\U0001F41D";  // Bytes 0, 1 to 3, 4 to 7.
  const size_t lengths[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
  for (size_t max = 0; max < 10; ++max) {
    CHECK(Utf8Prefix(text, max).size() == lengths[max]);
  }
  CHECK(Utf8Prefix(std::string(10, '\x80'), 5).size() >= 2);  // No UTF-8 at all.
}

}  // namespace
}  // namespace waggle
