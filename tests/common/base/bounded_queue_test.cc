#include "common/base/bounded_queue.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("a queue is first in, first out", "[unit]") {
  BoundedQueue<int> queue(3, 100);
  for (const int i : {1, 2, 3}) {
    REQUIRE_OK(queue.Push(i, 1));
  }
  CHECK(queue.size() == 3);
  for (const int i : {1, 2, 3}) {
    CHECK(ValueOf(queue.Pop()) == i);
  }
}

TEST_CASE("a queue carries what can only be moved", "[unit]") {
  BoundedQueue<std::unique_ptr<int>> queue(1, 1);
  REQUIRE_OK(queue.Push(std::make_unique<int>(7), 1));
  CHECK(*ValueOf(queue.Pop()) == 7);
}

TEST_CASE("an empty queue gives up after the timeout", "[unit]") {
  BoundedQueue<int> queue(1, 1);
  REQUIRE_CODE(queue.Pop(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  REQUIRE_CODE(queue.Pop(absl::Milliseconds(2)), absl::StatusCode::kDeadlineExceeded);
  REQUIRE_CODE(queue.Pop(-absl::InfiniteDuration()), absl::StatusCode::kDeadlineExceeded);
}

// Whether a push of `bytes` waits: it is woken by Close(), and an element that went in before is dropped by it.
bool Waits(BoundedQueue<int>* queue, size_t bytes) {
  absl::Status status;
  const size_t before = queue->size();
  Thread pusher("pusher", [&] { status = queue->Push(0, bytes); });
  // One that does not wait is seen going in; one that does is never seen, so a little patience must do.
  for (int i = 0; i < 20 && queue->size() == before; ++i) {
    StopToken().WaitFor(absl::Milliseconds(1));
  }
  queue->Close();
  pusher.Join();
  return absl::IsCancelled(status);
}

TEST_CASE("a push waits while the queue is full", "[unit]") {
  BoundedQueue<int> queue(2, 100);
  REQUIRE_OK(queue.Push(1, 40));
  SECTION("of elements") {
    REQUIRE_OK(queue.Push(2, 40));
    CHECK(Waits(&queue, 1));
  }
  SECTION("of bytes") {
    CHECK(Waits(&queue, 61));
  }
  SECTION("of bytes, by a size that wraps around") {
    CHECK(Waits(&queue, std::numeric_limits<size_t>::max() - 20));
  }
  SECTION("but not while there is room") {
    CHECK_FALSE(Waits(&queue, 60));
  }
}

TEST_CASE("an element larger than the limit goes in alone", "[unit]") {
  BoundedQueue<int> queue(0, 10);
  REQUIRE_OK(queue.Push(1, 1000));
  CHECK(queue.size() == 1);
  CHECK(Waits(&queue, 0));
}

TEST_CASE("a pop makes room for a waiting push", "[unit]") {
  BoundedQueue<int> queue(8, 10);
  std::vector<absl::Status> pushed(100);
  Thread pusher("pusher", [&] {
    for (size_t i = 0; i < pushed.size(); ++i) {
      pushed[i] = queue.Push(static_cast<int>(i), 1 + i % 10);
    }
    queue.CloseForPush();
  });
  for (int i = 0; i < 100; ++i) {
    CHECK(ValueOf(queue.Pop()) == i);
  }
  REQUIRE_CODE(queue.Pop(), absl::StatusCode::kCancelled);
  pusher.Join();
  for (const absl::Status& status : pushed) {
    CHECK(status == absl::OkStatus());
  }
}

TEST_CASE("every element reaches one of several readers", "[unit]") {
  constexpr int64_t kWriters = 3;
  constexpr int64_t kReaders = 3;
  constexpr int64_t kEach = 500;
  BoundedQueue<int64_t> queue(4, 1000);
  std::vector<int64_t> sums(kReaders);
  std::vector<int64_t> counts(kReaders);
  {
    std::vector<Thread> readers;
    for (size_t r = 0; r < kReaders; ++r) {
      readers.emplace_back("reader", [&, r] {
        for (absl::StatusOr<int64_t> got = queue.Pop(); got.ok(); got = queue.Pop()) {
          sums[r] += *got;
          ++counts[r];
        }
      });
    }
    {
      std::vector<Thread> writers;
      for (int64_t w = 0; w < kWriters; ++w) {
        writers.emplace_back("writer", [&, w] {
          for (int64_t i = 0; i < kEach; ++i) {
            queue.Push(w * kEach + i, 1).IgnoreError();
          }
        });
      }
    }
    queue.CloseForPush();
  }
  constexpr int64_t kAll = kWriters * kEach;
  CHECK(counts[0] + counts[1] + counts[2] == kAll);
  CHECK(sums[0] + sums[1] + sums[2] == kAll * (kAll - 1) / 2);
}

TEST_CASE("closing drops what the queue holds", "[unit]") {
  BoundedQueue<std::shared_ptr<int>> queue(2, 10);
  const auto element = std::make_shared<int>(1);
  REQUIRE_OK(queue.Push(element, 1));
  queue.Close();
  queue.Close();
  CHECK(element.use_count() == 1);
  CHECK(queue.size() == 0);
  REQUIRE_CODE(queue.Push(element, 1), absl::StatusCode::kCancelled);
  REQUIRE_CODE(queue.Pop(), absl::StatusCode::kCancelled);
}

TEST_CASE("closing for pushes lets readers drain the queue", "[unit]") {
  BoundedQueue<int> queue(2, 10);
  REQUIRE_OK(queue.Push(1, 1));
  queue.CloseForPush();
  queue.CloseForPush();
  REQUIRE_CODE(queue.Push(2, 1), absl::StatusCode::kCancelled);
  CHECK(ValueOf(queue.Pop()) == 1);
  REQUIRE_CODE(queue.Pop(), absl::StatusCode::kCancelled);
}

TEST_CASE("closing wakes every waiting reader", "[unit]") {
  const bool drain = GENERATE(false, true);
  BoundedQueue<int> queue(2, 10);
  std::vector<absl::Status> statuses(3);
  {
    std::vector<Thread> readers;
    for (absl::Status& status : statuses) {
      readers.emplace_back("reader", [&queue, &status] { status = queue.Pop().status(); });
    }
    drain ? queue.CloseForPush() : queue.Close();
  }
  for (const absl::Status& status : statuses) {
    CHECK(status.code() == absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace waggle
