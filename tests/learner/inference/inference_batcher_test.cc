#include "learner/inference/inference_batcher.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "tests/learner/inference/counting_policy.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CountingBatcher;
using testing::ValueOf;
using testing::Weights;

// A request's bytes: for each row whether an episode begins, and two floats.
ByteSlices RowsOf(const std::vector<std::pair<bool, float>>& rows) {
  std::shared_ptr<char> bytes = AllocateBytes(rows.size() * 9);
  char* at = bytes.get();
  for (const auto& [first, value] : rows) {
    *at++ = first ? 1 : 0;
  }
  for (const auto& [first, value] : rows) {
    const float values[] = {value, 1};
    std::memcpy(at, values, sizeof(values));
    at += sizeof(values);
  }
  ByteSlice slice;
  slice.data = bytes.get();
  slice.size = rows.size() * 9;
  slice.owner = bytes;
  return ByteSlices(std::move(slice));
}

// The answer to a request; Await waits for it.
class Pending {
 public:
  InferenceBatcher::Done Done() {
    return [this](absl::StatusOr<InferenceBatcher::Answer> answer) {
      MutexLock lock(&mutex_);
      answer_ = std::move(answer);
      changed_.SignalAll();
    };
  }
  absl::StatusOr<InferenceBatcher::Answer> Await() {
    MutexLock lock(&mutex_);
    while (!answer_.has_value()) {
      changed_.Wait(&mutex_);
    }
    return *std::exchange(answer_, std::nullopt);
  }
  bool answered() {
    MutexLock lock(&mutex_);
    return answer_.has_value();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<absl::StatusOr<InferenceBatcher::Answer>> answer_ ABSL_GUARDED_BY(mutex_);
};

// The actions in an answer with `rows` rows.
std::vector<int64_t> ActionsOf(const absl::StatusOr<InferenceBatcher::Answer>& answer, size_t rows) {
  REQUIRE_OK(answer.status());
  REQUIRE(answer->data.size() == rows * (8 + 4 + 4));
  std::vector<int64_t> actions(rows);
  answer->data.Part(0, 8 * rows).CopyTo(reinterpret_cast<char*>(actions.data()));
  return actions;
}

uint64_t Opened(const CountingBatcher& counting, int64_t index) {
  return ValueOf(counting.batcher->Open(index, [] {}));
}

TEST_CASE("a batch is computed when all streams wait, and each stream gets its own rows", "[unit]") {
  InferenceOptions options;
  options.wait_seconds = 60;
  CountingBatcher counting(options);
  counting.batcher->SetWeights(Weights(7));
  const uint64_t first = Opened(counting, 0);
  const uint64_t second = Opened(counting, 2);
  Pending of_first;
  Pending of_second;
  REQUIRE_OK(counting.batcher->Ask(first, {0, 1}, RowsOf({{true, 3}, {true, 4}}), of_first.Done()));
  REQUIRE_OK(counting.batcher->Ask(second, {1}, RowsOf({{true, 5}}), of_second.Done()));
  const auto answer = of_first.Await();
  CHECK(ActionsOf(answer, 2) == std::vector<int64_t>{1, 1});
  CHECK(answer->version == ModelVersion{1, 7});
  float rest[4] = {};  // Sums, then versions.
  answer->data.Part(16, 16).CopyTo(reinterpret_cast<char*>(rest));
  CHECK((rest[0] == 4 && rest[1] == 5 && rest[2] == 7 && rest[3] == 7));
  CHECK(ActionsOf(of_second.Await(), 1) == std::vector<int64_t>{1});
  CHECK(counting.policy->batches() == std::vector<int64_t>{3});
  // Each lane has its own memory.
  REQUIRE_OK(counting.batcher->Ask(first, {1}, RowsOf({{false, 0}}), of_first.Done()));
  REQUIRE_OK(counting.batcher->Ask(second, {0, 1}, RowsOf({{true, 0}, {false, 0}}), of_second.Done()));
  CHECK(ActionsOf(of_first.Await(), 1) == std::vector<int64_t>{2});
  CHECK(ActionsOf(of_second.Await(), 2) == std::vector<int64_t>{1, 2});
}

TEST_CASE("a batch is computed without a stream that does not ask, or has ended", "[unit]") {
  InferenceOptions options;
  options.wait_seconds = 0.01;
  CountingBatcher counting(options);
  counting.batcher->SetWeights(Weights(1));
  const uint64_t asking = Opened(counting, 0);
  const uint64_t silent = Opened(counting, 1);
  Pending pending;
  REQUIRE_OK(counting.batcher->Ask(asking, {0}, RowsOf({{true, 0}}), pending.Done()));
  ActionsOf(pending.Await(), 1);  // After the deadline.
  InferenceOptions patient;
  patient.wait_seconds = 3600;
  CountingBatcher other(patient);
  other.batcher->SetWeights(Weights(1));
  const uint64_t one = Opened(other, 0);
  const uint64_t dead = Opened(other, 1);
  REQUIRE_OK(other.batcher->Ask(one, {0}, RowsOf({{true, 0}}), pending.Done()));
  other.batcher->Close(dead);
  ActionsOf(pending.Await(), 1);
  counting.batcher->Close(silent);
}

TEST_CASE("a batch has at most the wanted number of rows, unless one request is larger", "[unit]") {
  InferenceOptions options;
  options.batch_rows = 1;
  CountingBatcher counting(options);
  const uint64_t first = Opened(counting, 0);
  const uint64_t second = Opened(counting, 1);
  Pending of_first;
  Pending of_second;
  REQUIRE_OK(counting.batcher->Ask(first, {0, 1}, RowsOf({{true, 0}, {true, 0}}), of_first.Done()));
  REQUIRE_OK(counting.batcher->Ask(second, {0}, RowsOf({{true, 0}}), of_second.Done()));
  CHECK_FALSE(of_first.answered());  // There are no weights.
  counting.batcher->SetWeights(Weights(1));
  ActionsOf(of_first.Await(), 2);
  ActionsOf(of_second.Await(), 1);
  CHECK(counting.policy->batches() == std::vector<int64_t>{2, 1});
}

TEST_CASE("weights are loaded between batches, and each answer has their version", "[unit]") {
  CountingBatcher counting;
  const uint64_t stream = Opened(counting, 0);
  for (const uint64_t version : {3U, 4U, 9U}) {
    counting.batcher->SetWeights(Weights(version));
    Pending pending;
    REQUIRE_OK(counting.batcher->Ask(stream, {0}, RowsOf({{false, 0}}), pending.Done()));
    const auto answer = pending.Await();
    REQUIRE_OK(answer.status());
    CHECK(answer->version == ModelVersion{1, version});
  }
}

TEST_CASE("an actor that returns has new memory, and its earlier stream ends", "[unit]") {
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  bool replaced = false;
  const uint64_t earlier = ValueOf(counting.batcher->Open(1, [&replaced] { replaced = true; }));
  Pending pending;
  for (const int64_t count : {1, 2, 3}) {  // A stream begins an episode, whatever its rows say.
    REQUIRE_OK(counting.batcher->Ask(earlier, {0, 1}, RowsOf({{false, 0}, {false, 0}}), pending.Done()));
    CHECK(ActionsOf(pending.Await(), 2) == std::vector<int64_t>{count, count});
  }
  const uint64_t later = Opened(counting, 1);
  CHECK(replaced);
  CHECK(absl::IsAborted(counting.batcher->Ask(earlier, {0}, RowsOf({{false, 0}}), pending.Done())));
  REQUIRE_OK(counting.batcher->Ask(later, {1}, RowsOf({{false, 0}}), pending.Done()));
  CHECK(ActionsOf(pending.Await(), 1) == std::vector<int64_t>{1});
  REQUIRE_OK(counting.batcher->Ask(later, {0, 1}, RowsOf({{false, 0}, {false, 0}}), pending.Done()));
  CHECK(ActionsOf(pending.Await(), 2) == std::vector<int64_t>{1, 2});
}

TEST_CASE("in a batch that the policy refuses only the wrong request is refused", "[unit]") {
  InferenceOptions options;
  options.wait_seconds = 60;
  CountingBatcher counting(options);
  counting.batcher->SetWeights(Weights(1));
  const uint64_t right = Opened(counting, 0);
  const uint64_t wrong = Opened(counting, 1);
  Pending of_right;
  Pending of_wrong;
  REQUIRE_OK(counting.batcher->Ask(right, {0}, RowsOf({{true, 2}}), of_right.Done()));
  REQUIRE_OK(counting.batcher->Ask(wrong, {0}, RowsOf({{true, -2}}), of_wrong.Done()));
  CHECK(ActionsOf(of_right.Await(), 1) == std::vector<int64_t>{1});
  CHECK(of_wrong.Await().status() == absl::InvalidArgumentError("an observation is below 0"));
}

TEST_CASE("the requests of a stream that ends are dropped", "[unit]") {
  InferenceOptions options;
  options.wait_seconds = 60;
  CountingBatcher counting(options);  // Without weights, so that requests wait.
  Pending dropped;
  Pending pending;
  for (int i = 0; i < 3; ++i) {
    const uint64_t earlier = Opened(counting, 1);
    REQUIRE_OK(counting.batcher->Ask(earlier, {0, 1}, RowsOf({{true, 0}, {true, 0}}), dropped.Done()));
  }
  const uint64_t closed = Opened(counting, 1);
  counting.batcher->Close(closed);
  const uint64_t stream = Opened(counting, 0);
  REQUIRE_OK(counting.batcher->Ask(stream, {0}, RowsOf({{true, 0}}), pending.Done()));
  counting.batcher->SetWeights(Weights(1));
  CHECK(ActionsOf(pending.Await(), 1) == std::vector<int64_t>{1});
  CHECK(counting.policy->batches() == std::vector<int64_t>{1});
  CHECK_FALSE(dropped.answered());
}

TEST_CASE("an observation with an unknown choice is refused before the computation", "[unit]") {
  EnvironmentSpec environment = testing::CountingEnvironment();
  environment.observations.push_back(Discrete("observation/gear", 5));
  InferenceBatcher::Parts parts;
  parts.policy = std::make_unique<testing::SlotCountingPolicy>(2);
  parts.environment = environment;
  parts.actors = 1;
  parts.lanes = 2;
  Metrics metrics;
  parts.metrics = &metrics;
  InferenceBatcher batcher(InferenceOptions(), std::move(parts));
  batcher.SetWeights(Weights(1));
  const uint64_t stream = ValueOf(batcher.Open(0, [] {}));
  for (const int64_t gear : {int64_t{4}, int64_t{5}, int64_t{-1}, int64_t{1} << 40}) {
    std::shared_ptr<char> bytes = AllocateBytes(1 + 8 + 8);
    std::memset(bytes.get(), 0, 9);
    std::memcpy(bytes.get() + 9, &gear, sizeof(gear));
    Pending pending;
    REQUIRE_OK(batcher.Ask(stream, {0}, ByteSlices(ByteSlice{bytes.get(), 17, bytes}), pending.Done()));
    const absl::Status status = pending.Await().status();
    CHECK((gear == 4 ? status.ok() : absl::IsInvalidArgument(status)));
  }
}

TEST_CASE("impossible requests are refused with what was wanted", "[unit]") {
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  CHECK(absl::IsResourceExhausted(counting.batcher->Open(3, [] {}).status()));
  CHECK(absl::IsResourceExhausted(counting.batcher->Open(-1, [] {}).status()));
  const uint64_t stream = Opened(counting, 0);
  Pending pending;
  const auto ask = [&](std::vector<int64_t> lanes, size_t rows) {
    const std::vector<std::pair<bool, float>> some(rows, {true, 0});
    return counting.batcher->Ask(stream, std::move(lanes), RowsOf(some), pending.Done());
  };
  for (const auto& [lanes, rows] :
       std::vector<std::pair<std::vector<int64_t>, size_t>>{{{2}, 1}, {{-1}, 1}, {{0, 0}, 2}, {{}, 0}, {{0}, 2}}) {
    CHECK(absl::IsInvalidArgument(ask(lanes, rows)));
  }
  CHECK(absl::IsAborted(counting.batcher->Ask(77, {0}, RowsOf({{true, 0}}), pending.Done())));
  // None of these counted as a request.
  REQUIRE_OK(ask({1}, 1));
  ActionsOf(pending.Await(), 1);
}

TEST_CASE("a stream asks again once it is answered, and waiting requests get an error at the end", "[unit]") {
  CountingBatcher counting;  // Without weights.
  const uint64_t stream = Opened(counting, 0);
  Pending pending;
  REQUIRE_OK(counting.batcher->Ask(stream, {0}, RowsOf({{true, 0}}), pending.Done()));
  CHECK(absl::IsFailedPrecondition(counting.batcher->Ask(stream, {1}, RowsOf({{true, 0}}), pending.Done())));
  counting.batcher->Stop();
  CHECK(absl::IsCancelled(pending.Await().status()));
  CHECK(absl::IsCancelled(counting.batcher->Ask(stream, {1}, RowsOf({{true, 0}}), pending.Done())));
}

}  // namespace
}  // namespace waggle
