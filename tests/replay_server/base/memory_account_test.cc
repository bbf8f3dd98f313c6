#include "replay_server/base/memory_account.h"

#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

// An account of 100 bytes, and the names of the callers that were granted some, in order.
struct Fixture {
  ~Fixture() { account->Close(); }

  void Await(int name, int64_t bytes) {
    account->Await(Who(name), bytes, [this, name](MemoryAccount::Share share) {
      MutexLock lock(&mutex);
      names.push_back(name);
      shares[name] = std::move(share);
    });
  }
  void Withdraw(int name) { account->Withdraw(Who(name)); }
  void Drop(int name) {
    MemoryAccount::Share dropped;
    MutexLock lock(&mutex);
    dropped.swap(shares[name]);
  }
  std::vector<int> Names() {
    MutexLock lock(&mutex);
    return names;
  }
  void AwaitNames(const std::vector<int>& wanted) {
    testing::Eventually("calls are granted", [&] { return Names().size() >= wanted.size(); });
    REQUIRE(Names() == wanted);
  }

  static const void* Who(int name) {
    static const char addresses[10] = {};
    return &addresses[name];
  }

  Mutex mutex;
  std::vector<int> names;
  std::map<int, MemoryAccount::Share> shares;
  const std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>(100);
};

TEST_CASE("An account refuses bytes past its limit, and does not count them", "[unit]") {
  const auto account = std::make_shared<MemoryAccount>(100);
  MemoryAccount::Share share = account->TryTake(60);
  REQUIRE(share != nullptr);
  MemoryAccount::Hold hold(account);
  CHECK_FALSE(hold.TryGrow(41));
  CHECK(hold.TryGrow(40));
  CHECK(account->TryTake(1) == nullptr);
  CHECK(account->used() == 100);
  CHECK_FALSE(account->over());
  share.reset();
  {
    MemoryAccount::Hold forced(account);
    forced.Set(61);
    CHECK(account->over());
    CHECK_FALSE(hold.TryGrow(1));
    forced.Set(10);
    CHECK(account->used() == 50);
  }
  CHECK(hold.bytes() == 40);
  CHECK(account->used() == 40);
}

TEST_CASE("Many threads at once get no more than the limit", "[unit]") {
  constexpr int64_t kLimit = 1000;
  const auto account = std::make_shared<MemoryAccount>(kLimit);
  std::vector<std::vector<MemoryAccount::Share>> shares(4);
  std::vector<std::thread> threads;
  for (auto& own : shares) {
    threads.emplace_back([&account, &own] {
      for (MemoryAccount::Share share = account->TryTake(1); share != nullptr; share = account->TryTake(1)) {
        own.push_back(std::move(share));
      }
    });
  }
  size_t granted = 0;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    granted += shares[i].size();
  }
  CHECK(granted == static_cast<size_t>(kLimit));
  shares.clear();
  CHECK(account->used() == 0);
}

TEST_CASE("Bytes are granted while there are any, then in the order of the calls", "[unit]") {
  Fixture f;
  f.Await(1, 60);
  f.Await(2, 40);
  REQUIRE(f.account->used() == 100);
  f.Await(3, 50);
  f.Await(4, 10);
  f.Await(5, 10);
  REQUIRE(f.Names() == std::vector<int>{1, 2});
  f.Drop(2);  // 40 bytes are too few for the first waiting call, and the others do not pass it.
  REQUIRE(f.account->used() == 60);
  f.Drop(1);
  f.AwaitNames({1, 2, 3, 4, 5});
  REQUIRE(f.account->used() == 70);
}

TEST_CASE("Calls that were withdrawn are not granted, and no call waits behind them", "[unit]") {
  Fixture f;
  f.Await(1, 60);
  f.Await(2, 50);
  f.Await(3, 10);
  f.Await(2, 1);
  f.Await(4, 10);
  REQUIRE(f.Names() == std::vector<int>{1});
  f.Withdraw(2);
  f.AwaitNames({1, 3, 4});
  f.Withdraw(1);  // Its call was granted.
  REQUIRE(f.account->used() == 80);
}

TEST_CASE("A call for more than the limit is granted alone", "[unit]") {
  Fixture f;
  f.Await(1, 1);
  f.Await(2, 1000);
  f.Await(3, 1);
  REQUIRE(f.Names() == std::vector<int>{1});
  f.Drop(1);
  f.AwaitNames({1, 2});
  f.Drop(2);
  f.AwaitNames({1, 2, 3});
}

TEST_CASE("Calls wait for bytes that were taken past the limit", "[unit]") {
  Fixture f;
  f.Await(1, 60);
  MemoryAccount::Share share = f.account->Take(90);
  f.Await(2, 40);
  f.Drop(1);
  REQUIRE(f.Names() == std::vector<int>{1});
  share.reset();
  f.AwaitNames({1, 2});
  REQUIRE(f.account->used() == 40);
}

TEST_CASE("A closed account drops waiting and later calls, and takes shares back", "[unit]") {
  Fixture f;
  f.Await(1, 100);
  f.Await(2, 100);
  f.account->Close();
  f.Await(3, 1);
  f.Drop(1);
  REQUIRE(f.account->used() == 0);
  REQUIRE(f.Names() == std::vector<int>{1});
}

}  // namespace
}  // namespace waggle
