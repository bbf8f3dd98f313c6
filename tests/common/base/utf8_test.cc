#include "common/base/utf8.h"

#include <string>
#include <utility>

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

TEST_CASE("Bytes that belong to no character become question marks", "[unit]") {
  const std::string text = "a\u00e4\u20ac\U0001F41D\U0010FFFF";
  CHECK(IsUtf8(text));
  CHECK(AsUtf8(text) == text);
  const std::pair<std::string, std::string> wrong[] = {
      {"a\xe2\x82", "a??"},          // Cut in two.
      {"\x80z", "?z"},               // The middle of one.
      {"\xc0\xaf", "??"},            // Longer than it need be.
      {"\xed\xa0\x80", "???"},       // Half of a pair.
      {"\xf4\x90\x80\x80", "????"},  // Above U+10FFFF.
      {"\xff\u20ac", "?\u20ac"},
  };
  for (const auto& [bytes, valid] : wrong) {
    CHECK_FALSE(IsUtf8(bytes));
    CHECK(AsUtf8(bytes) == valid);
  }
  CHECK(IsUtf8(""));
}

}  // namespace
}  // namespace waggle
