#include "common/base/shown_text.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A name that is shown is printable ASCII whatever its bytes", "[unit]") {
  CHECK(ShownText("place") == "place");
  CHECK(ShownText("a\n\"") == "a\\n\\\"");
  CHECK(ShownText("\xff") == "\\xff");
  // No character is cut in two.
  CHECK(ShownText("abc\xc3\xa9", 4) == "abc");
  CHECK(ShownText("abc\xc3\xa9", 5) == "abc\\xc3\\xa9");
  CHECK(ShownText(std::string(100, 'x')).size() == 60);
}

TEST_CASE("A text in one line is valid UTF-8 and does nothing to a terminal", "[unit]") {
  CHECK(OneLine("a\n\x1b[2J\x7f", 100) == "a  [2J ");
  CHECK(OneLine("gr\xc3\xb6\xc3\x9f"
                "er",
                100) ==
        "gr\xc3\xb6\xc3\x9f"
        "er");
  CHECK(OneLine("\xc2\x9b"
                "2J\xc2\xa0",
                100) == " 2J\xc2\xa0");
  CHECK(OneLine("a\xff\xc3", 100) == "a??");
  CHECK(OneLine("abc\xc3\xa9", 4) == "abc");
}

}  // namespace
}  // namespace waggle
