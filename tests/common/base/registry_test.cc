#include "common/base/registry.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

Registry<int> Numbers() {
  Registry<int> registry("number");
  REQUIRE_OK(registry.Register("two", 2));
  REQUIRE_OK(registry.Register("one", 1));
  return registry;
}

TEST_CASE("an entry is found by its name", "[unit]") {
  const Registry<int> registry = Numbers();
  CHECK(*ValueOf(registry.Find("one")) == 1);
  CHECK(registry.Names() == std::vector<std::string>{"one", "two"});
}

TEST_CASE("an unknown name is an error that lists the known ones", "[unit]") {
  const absl::Status status = Numbers().Find("onne").status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK(status.message() == "no number named \"onne\"; did you mean \"one\"?; known: one, two");
}

TEST_CASE("a name is registered once", "[unit]") {
  Registry<int> registry = Numbers();
  REQUIRE_CODE(registry.Register("one", 3), absl::StatusCode::kAlreadyExists);
  CHECK(*ValueOf(registry.Find("one")) == 1);
}

}  // namespace
}  // namespace waggle
