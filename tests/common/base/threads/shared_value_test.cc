#include "common/base/threads/shared_value.h"

#include <map>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Numbers = std::map<std::string, double>;

TEST_CASE("Copies share a value until one of them is changed", "[unit]") {
  SharedValue<Numbers> first(Numbers{{"a", 1}});
  const SharedValue<Numbers> second = first;
  CHECK(&*first == &*second);
  (*first.Change())["a"] = 2;
  CHECK(first->at("a") == 2);
  CHECK(second->at("a") == 1);
  const Numbers* const own = &*first;
  (*first.Change())["b"] = 3;
  CHECK(&*first == own);  // Not shared any more.
  CHECK(SharedValue<Numbers>()->empty());
}

}  // namespace
}  // namespace waggle
