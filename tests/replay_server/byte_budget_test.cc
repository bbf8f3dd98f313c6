#include "replay_server/byte_budget.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/stop_token.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// A budget of 100 bytes and who has got what of it, in order.
struct Fixture {
  ~Fixture() { budget->Close(); }

  void Take(int name, int64_t bytes) {
    budget->Take(bytes, [this, name](ByteBudget::Share share) {
      MutexLock lock(&mutex);
      shares.emplace_back(name, std::move(share));
    });
  }
  void Drop(int name) {
    ByteBudget::Share dropped;
    MutexLock lock(&mutex);
    for (auto& share : shares) {
      if (share.first == name) {
        dropped.swap(share.second);
      }
    }
  }
  // The names, when the executor has nothing left to do.
  std::vector<int> Names() {
    // A grant may submit the next one: as many rounds as there can be grants.
    for (int i = 0; i < 10; ++i) {
      const StopToken drained;
      REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
      REQUIRE(drained.WaitFor(absl::Seconds(10)));
    }
    MutexLock lock(&mutex);
    std::vector<int> names;
    for (const auto& share : shares) {
      names.push_back(share.first);
    }
    return names;
  }

  Mutex mutex;
  std::vector<std::pair<int, ByteBudget::Share>> shares;
  Executor executor{"test", 1, 100};
  const std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(100, &executor);
};

}  // namespace

TEST_CASE("bytes are given while there are any, then in the order of asking", "[unit]") {
  Fixture f;
  f.Take(1, 60);
  f.Take(2, 40);
  REQUIRE(f.budget->used() == 100);
  f.Take(3, 50);
  f.Take(4, 10);
  f.Take(5, 10);
  REQUIRE(f.Names() == std::vector<int>{1, 2});
  f.Drop(2);  // 40 bytes are not enough for the first in the queue, and the others do not pass it.
  REQUIRE(f.Names() == std::vector<int>{1, 2});
  REQUIRE(f.budget->used() == 60);
  f.Drop(1);
  REQUIRE(f.Names() == std::vector<int>{1, 2, 3, 4, 5});
  REQUIRE(f.budget->used() == 70);
  f.Drop(3);
  f.Drop(4);
  f.Drop(5);
  REQUIRE(f.budget->used() == 0);
}

TEST_CASE("more than all bytes are given to one who is alone", "[unit]") {
  Fixture f;
  f.Take(1, 1);
  f.Take(2, 1000);
  f.Take(3, 1);
  REQUIRE(f.Names() == std::vector<int>{1});
  f.Drop(1);
  REQUIRE(f.Names() == std::vector<int>{1, 2});
  f.Drop(2);
  REQUIRE(f.Names() == std::vector<int>{1, 2, 3});
}

TEST_CASE("what is taken anyway counts, and others wait for it", "[unit]") {
  Fixture f;
  f.Take(1, 60);
  ByteBudget::Share share = f.budget->TakeAnyway(90);
  REQUIRE(f.budget->used() == 150);
  f.Take(2, 40);
  f.Drop(1);
  REQUIRE(f.Names() == std::vector<int>{1});
  share.reset();
  REQUIRE(f.Names() == std::vector<int>{1, 2});
  REQUIRE(f.budget->used() == 40);
}

TEST_CASE("a closed budget drops who waits and who comes, and takes shares back", "[unit]") {
  Fixture f;
  f.Take(1, 100);
  f.Take(2, 100);
  f.budget->Close();
  f.Take(3, 1);
  f.Drop(1);
  REQUIRE(f.budget->used() == 0);
  REQUIRE(f.Names() == std::vector<int>{1});
}

}  // namespace waggle
