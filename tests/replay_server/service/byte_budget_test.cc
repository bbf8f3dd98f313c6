#include "replay_server/service/byte_budget.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// A budget of 100 bytes and who has got what of it, in order.
struct Fixture {
  ~Fixture() { budget->Close(); }

  // `name` is also who asks.
  void Take(int name, int64_t bytes) {
    budget->Take(Who(name), bytes, [this, name](ByteBudget::Share share) {
      MutexLock lock(&mutex);
      shares.emplace_back(name, std::move(share));
      changed.SignalAll();
    });
  }
  void Withdraw(int name) { budget->Withdraw(Who(name)); }
  void Drop(int name) {
    ByteBudget::Share dropped;
    MutexLock lock(&mutex);
    for (auto& share : shares) {
      if (share.first == name) {
        dropped.swap(share.second);
      }
    }
  }
  std::vector<int> Names() {
    MutexLock lock(&mutex);
    std::vector<int> names;
    for (const auto& share : shares) {
      names.push_back(share.first);
    }
    return names;
  }
  // The names, once there are so many.
  std::vector<int> AwaitNames(size_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    MutexLock lock(&mutex);
    while (shares.size() < count && absl::Now() < deadline) {
      changed.WaitFor(&mutex, deadline - absl::Now());
    }
    std::vector<int> names;
    for (const auto& share : shares) {
      names.push_back(share.first);
    }
    return names;
  }

  static const void* Who(int name) {
    static const char names[10] = {};
    return &names[name];
  }

  Mutex mutex;
  CondVar changed;
  std::vector<std::pair<int, ByteBudget::Share>> shares;
  const std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(100);
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
  REQUIRE(f.budget->used() == 60);
  f.Drop(1);
  REQUIRE(f.AwaitNames(5) == std::vector<int>{1, 2, 3, 4, 5});
  REQUIRE(f.budget->used() == 70);
  f.Drop(3);
  f.Drop(4);
  f.Drop(5);
  REQUIRE(f.budget->used() == 0);
}

TEST_CASE("who withdraws is given nothing, and nobody waits behind it", "[unit]") {
  Fixture f;
  f.Take(1, 60);
  f.Take(2, 50);
  f.Take(3, 10);
  f.Take(2, 1);
  f.Take(4, 10);
  REQUIRE(f.Names() == std::vector<int>{1});
  f.Withdraw(2);
  REQUIRE(f.AwaitNames(3) == std::vector<int>{1, 3, 4});
  REQUIRE(f.budget->used() == 80);
  f.Withdraw(1);  // It has what it asked for.
  REQUIRE(f.budget->used() == 80);
}

TEST_CASE("more than all bytes are given to one who is alone", "[unit]") {
  Fixture f;
  f.Take(1, 1);
  f.Take(2, 1000);
  f.Take(3, 1);
  REQUIRE(f.Names() == std::vector<int>{1});
  f.Drop(1);
  REQUIRE(f.AwaitNames(2) == std::vector<int>{1, 2});
  f.Drop(2);
  REQUIRE(f.AwaitNames(3) == std::vector<int>{1, 2, 3});
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
  REQUIRE(f.AwaitNames(2) == std::vector<int>{1, 2});
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
