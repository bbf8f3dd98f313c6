#include "cli/play/terminal_picture.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A picture fits the terminal, with two places per character", "[unit]") {
  Picture picture({0, 4, 0, 2});
  picture.FillRectangle({0, 1}, {4, 2}, {10, 20, 30});
  picture.FillRectangle({0, 0}, {4, 1}, {40, 50, 60});
  const std::string small = TerminalPicture(picture, 1, 100);
  CHECK(small == "\x1b[38;2;25;35;45m\x1b[48;2;250;249;245m\u2580\x1b[0m\n");
  const std::string two = TerminalPicture(picture, 2, 100);
  CHECK(std::count(two.begin(), two.end(), '\n') == 1);
  const std::string four = TerminalPicture(picture, 4, 100);
  CHECK_THAT(four, Catch::StartsWith("\x1b[38;2;10;20;30m\x1b[48;2;40;50;60m\u2580"));
  const std::string low = TerminalPicture(picture, 100, 3);
  CHECK(std::count(low.begin(), low.end(), '\n') <= 3);
  CHECK(std::count(low.begin(), low.end(), 'm') <= 3 * (2 * 100 + 1));
}

}  // namespace
}  // namespace waggle
