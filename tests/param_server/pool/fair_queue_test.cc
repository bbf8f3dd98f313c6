#include "param_server/pool/fair_queue.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// All sequences in their order, if each experiment begins and adds `share` to its owner's.
std::vector<int64_t> Order(FairQueue queue, const std::map<int64_t, std::string>& owners, double share) {
  std::vector<int64_t> order;
  while (const std::optional<int64_t> next = queue.Next()) {
    order.push_back(*next);
    queue.AddShare(owners.at(*next), share);
  }
  return order;
}

TEST_CASE("one owner's experiments come by priority and then by age", "[unit]") {
  FairQueue queue({});
  queue.Add(0, "ada", 1);
  queue.Add(5, "ada", 4);
  queue.Add(0, "ada", 2);
  queue.Add(-1, "ada", 3);
  CHECK(Order(queue, {{1, "ada"}, {2, "ada"}, {3, "ada"}, {4, "ada"}}, 1) == std::vector<int64_t>{4, 1, 2, 3});
}

TEST_CASE("the owner with the least share comes first, and owners alternate as their experiments begin", "[unit]") {
  const std::map<int64_t, std::string> owners = {{1, "ada"}, {2, "ada"}, {3, "ada"}, {4, "bob"}, {5, "bob"}};
  FairQueue equal({});
  FairQueue behind({{"ada", 4}, {"bob", 1}});
  for (const auto& [sequence, owner] : owners) {
    equal.Add(0, owner, sequence);
    behind.Add(0, owner, sequence);
  }
  CHECK(Order(equal, owners, 2) == std::vector<int64_t>{1, 4, 2, 5, 3});
  CHECK(Order(behind, owners, 2) == std::vector<int64_t>{4, 5, 1, 2, 3});
}

TEST_CASE("a higher priority comes before a smaller share", "[unit]") {
  FairQueue queue({{"ada", 100}});
  queue.Add(1, "ada", 2);
  queue.Add(0, "bob", 1);
  CHECK(queue.Next() == 2);
  CHECK(queue.Next() == 1);
  CHECK(queue.Next() == std::nullopt);
}

TEST_CASE("experiments that do not begin leave the order of the others alone", "[unit]") {
  FairQueue queue({});
  queue.Add(0, "ada", 1);
  queue.Add(0, "ada", 2);
  queue.Add(0, "bob", 3);
  CHECK(queue.Next() == 1);
  CHECK(queue.Next() == 2);
  CHECK(queue.Next() == 3);
}

}  // namespace
}  // namespace waggle
