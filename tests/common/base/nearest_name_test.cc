#include "common/base/nearest_name.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

const std::vector<std::string>& Known() {
  static const auto* const known =
      new std::vector<std::string>{"learning_rate", "batch_size", "gamma", "n_step", "tau"};
  return *known;
}

TEST_CASE("the nearest known name is offered", "[unit]") {
  CHECK(DidYouMean("lerning_rate", Known()) == "; did you mean \"learning_rate\"?");
  CHECK(DidYouMean("batchsize", Known()) == "; did you mean \"batch_size\"?");
  CHECK(DidYouMean("nstep", Known()) == "; did you mean \"n_step\"?");
  CHECK(DidYouMean("gmma", Known()) == "; did you mean \"gamma\"?");
  CHECK(DidYouMean("GAMMA", Known()) == "; did you mean \"gamma\"?");
  CHECK(DidYouMean("tao", Known()) == "; did you mean \"tau\"?");
}

TEST_CASE("nothing is offered if no name is near", "[unit]") {
  CHECK(DidYouMean("foo", Known()).empty());
  CHECK(DidYouMean("", Known()).empty());
  CHECK(DidYouMean("gamma", {}).empty());
  CHECK(DidYouMean(std::string(1 << 24, 'x'), Known()).empty());
}

TEST_CASE("the first of two equally near names is offered", "[unit]") {
  CHECK(DidYouMean("actor_x", {"actor_a", "actor_b"}) == "; did you mean \"actor_a\"?");
}

}  // namespace
}  // namespace waggle
