#include "common/rl/annealed.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an annealed value goes to its last one in a straight line, up or down, and stays", "[unit]") {
  CHECK(Annealed(0.4, 1, 100, 0) == Approx(0.4));
  CHECK(Annealed(0.4, 1, 100, 50) == Approx(0.7));
  CHECK(Annealed(0.4, 1, 100, 100) == 1);
  CHECK(Annealed(0.4, 1, 100, 1'000'000) == 1);
  CHECK(Annealed(1, 0.2, 10, 0) == 1);
  CHECK(Annealed(1, 0.2, 10, 5) == Approx(0.6));
}

TEST_CASE("without steps an annealed value is the last one at once", "[unit]") {
  CHECK(Annealed(0.4, 1, 0, 0) == 1);
}

}  // namespace
}  // namespace waggle
