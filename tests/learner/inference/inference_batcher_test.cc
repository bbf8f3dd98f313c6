#include "learner/inference/inference_batcher.h"

#include <cstring>
#include <deque>
#include <functional>
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

using Rows = std::vector<std::pair<bool, float>>;

// A request's bytes: for each row whether an episode begins, and two floats.
ByteSlices RowsOf(const Rows& rows) {
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
  return ByteSlices(ByteSlice{bytes.get(), rows.size() * 9, bytes});
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

// An actor's stream, and the answer to its request.
class Stream {
 public:
  Stream(
      CountingBatcher* counting, int64_t actor, std::function<void()> on_end = [] {})
      : batcher_(counting->batcher.get()), stream_(ValueOf(batcher_->Open(actor, std::move(on_end)))) {}

  absl::Status Ask(std::vector<int64_t> lanes, const Rows& rows) {
    return batcher_->Ask(stream_, std::move(lanes), RowsOf(rows), pending_.Done());
  }
  absl::StatusOr<InferenceBatcher::Answer> Await() { return pending_.Await(); }
  std::vector<int64_t> AwaitActions(size_t rows) { return ActionsOf(Await(), rows); }
  bool answered() { return pending_.answered(); }
  void Close() { batcher_->Close(stream_); }

  static std::vector<int64_t> ActionsOf(const absl::StatusOr<InferenceBatcher::Answer>& answer, size_t rows) {
    REQUIRE_OK(answer.status());
    REQUIRE(answer->data.size() == rows * (8 + 4 + 4));
    std::vector<int64_t> actions(rows);
    answer->data.Part(0, 8 * rows).CopyTo(reinterpret_cast<char*>(actions.data()));
    return actions;
  }

 private:
  InferenceBatcher* const batcher_;
  const uint64_t stream_;
  Pending pending_;
};

InferenceOptions Waiting(double seconds) {
  InferenceOptions options;
  options.wait_seconds = seconds;
  return options;
}

TEST_CASE("a batch is computed when all streams wait, and each stream gets its own rows", "[unit]") {
  CountingBatcher counting(Waiting(60));
  counting.batcher->SetWeights(Weights(7));
  Stream first(&counting, 0);
  Stream second(&counting, 2);
  REQUIRE_OK(first.Ask({0, 1}, {{true, 3}, {true, 4}}));
  REQUIRE_OK(second.Ask({1}, {{true, 5}}));
  const auto answer = first.Await();
  CHECK(Stream::ActionsOf(answer, 2) == std::vector<int64_t>{1, 1});
  CHECK(answer->version == ModelVersion{1, 7});
  float rest[4] = {};  // Sums, then versions.
  answer->data.Part(16, 16).CopyTo(reinterpret_cast<char*>(rest));
  CHECK((rest[0] == 4 && rest[1] == 5 && rest[2] == 7 && rest[3] == 7));
  CHECK(second.AwaitActions(1) == std::vector<int64_t>{1});
  CHECK(counting.policy->batches() == std::vector<int64_t>{3});
  // Each lane has its own memory.
  REQUIRE_OK(first.Ask({1}, {{false, 0}}));
  REQUIRE_OK(second.Ask({0, 1}, {{true, 0}, {false, 0}}));
  CHECK(first.AwaitActions(1) == std::vector<int64_t>{2});
  CHECK(second.AwaitActions(2) == std::vector<int64_t>{1, 2});
}

TEST_CASE("a batch is computed without a stream that does not ask, or has ended", "[unit]") {
  CountingBatcher counting(Waiting(0.01));
  counting.batcher->SetWeights(Weights(1));
  Stream asking(&counting, 0);
  const Stream silent(&counting, 1);
  REQUIRE_OK(asking.Ask({0}, {{true, 0}}));
  asking.AwaitActions(1);  // After the deadline.
  CountingBatcher patient(Waiting(3600));
  patient.batcher->SetWeights(Weights(1));
  Stream one(&patient, 0);
  Stream dead(&patient, 1);
  REQUIRE_OK(one.Ask({0}, {{true, 0}}));
  dead.Close();
  one.AwaitActions(1);
}

TEST_CASE("a batch has at most the wanted number of rows, unless one request is larger", "[unit]") {
  InferenceOptions options;
  options.batch_rows = 1;
  CountingBatcher counting(options);
  Stream first(&counting, 0);
  Stream second(&counting, 1);
  REQUIRE_OK(first.Ask({0, 1}, {{true, 0}, {true, 0}}));
  REQUIRE_OK(second.Ask({0}, {{true, 0}}));
  CHECK_FALSE(first.answered());  // There are no weights.
  counting.batcher->SetWeights(Weights(1));
  first.AwaitActions(2);
  second.AwaitActions(1);
  CHECK(counting.policy->batches() == std::vector<int64_t>{2, 1});
}

TEST_CASE("weights are loaded between batches, and each answer has their version", "[unit]") {
  CountingBatcher counting;
  Stream stream(&counting, 0);
  for (const uint64_t version : {3U, 4U, 9U}) {
    counting.batcher->SetWeights(Weights(version));
    REQUIRE_OK(stream.Ask({0}, {{false, 0}}));
    CHECK(ValueOf(stream.Await()).version == ModelVersion{1, version});
  }
}

TEST_CASE("settings are taken before each batch", "[unit]") {
  std::vector<Policy*> asked;  // Constant while no request waits.
  CountingBatcher counting({}, [&asked](Policy* policy) { asked.push_back(policy); });
  Stream stream(&counting, 0);
  counting.batcher->SetWeights(Weights(1));
  for (size_t batches = 1; batches <= 3; ++batches) {
    REQUIRE_OK(stream.Ask({0}, {{false, 0}}));
    REQUIRE_OK(stream.Await().status());
    CHECK(asked == std::vector<Policy*>(batches, counting.policy));
  }
}

TEST_CASE("an actor that returns has new memory, and its earlier stream ends", "[unit]") {
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  bool replaced = false;
  Stream earlier(&counting, 1, [&replaced] { replaced = true; });
  for (const int64_t count : {1, 2, 3}) {  // A stream begins an episode, whatever its rows say.
    REQUIRE_OK(earlier.Ask({0, 1}, {{false, 0}, {false, 0}}));
    CHECK(earlier.AwaitActions(2) == std::vector<int64_t>{count, count});
  }
  Stream later(&counting, 1);
  CHECK(replaced);
  REQUIRE_CODE(earlier.Ask({0}, {{false, 0}}), absl::StatusCode::kAborted);
  REQUIRE_OK(later.Ask({1}, {{false, 0}}));
  CHECK(later.AwaitActions(1) == std::vector<int64_t>{1});
  REQUIRE_OK(later.Ask({0, 1}, {{false, 0}, {false, 0}}));
  CHECK(later.AwaitActions(2) == std::vector<int64_t>{1, 2});
}

TEST_CASE("in a batch that the policy refuses only the wrong request is refused", "[unit]") {
  CountingBatcher counting(Waiting(60));
  counting.batcher->SetWeights(Weights(1));
  Stream right(&counting, 0);
  Stream wrong(&counting, 1);
  REQUIRE_OK(right.Ask({0}, {{true, 2}}));
  REQUIRE_OK(wrong.Ask({0}, {{true, -2}}));
  CHECK(right.AwaitActions(1) == std::vector<int64_t>{1});
  CHECK(wrong.Await().status() == absl::InvalidArgumentError("an observation is below 0"));
}

TEST_CASE("the requests of a stream that ends are dropped", "[unit]") {
  CountingBatcher counting(Waiting(60));  // Without weights, so that requests wait.
  std::deque<Stream> replaced;
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(replaced.emplace_back(&counting, 1).Ask({0, 1}, {{true, 0}, {true, 0}}));
  }
  Stream(&counting, 1).Close();
  Stream stream(&counting, 0);
  REQUIRE_OK(stream.Ask({0}, {{true, 0}}));
  counting.batcher->SetWeights(Weights(1));
  CHECK(stream.AwaitActions(1) == std::vector<int64_t>{1});
  CHECK(counting.policy->batches() == std::vector<int64_t>{1});
  for (Stream& earlier : replaced) {
    CHECK_FALSE(earlier.answered());
  }
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

TEST_CASE("impossible requests are refused", "[unit]") {
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  REQUIRE_CODE(counting.batcher->Open(3, [] {}), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(counting.batcher->Open(-1, [] {}), absl::StatusCode::kResourceExhausted);
  Stream stream(&counting, 0);
  for (const auto& [lanes, rows] :
       std::vector<std::pair<std::vector<int64_t>, size_t>>{{{2}, 1}, {{-1}, 1}, {{0, 0}, 2}, {{}, 0}, {{0}, 2}}) {
    REQUIRE_CODE(stream.Ask(lanes, Rows(rows, {true, 0})), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE_CODE(counting.batcher->Ask(77, {0}, RowsOf({{true, 0}}), [](auto) {}), absl::StatusCode::kAborted);
  // None of these counted as a request.
  REQUIRE_OK(stream.Ask({1}, {{true, 0}}));
  stream.AwaitActions(1);
}

TEST_CASE("a stream asks again once it is answered, and waiting requests get an error at the end", "[unit]") {
  CountingBatcher counting;  // Without weights.
  Stream stream(&counting, 0);
  REQUIRE_OK(stream.Ask({0}, {{true, 0}}));
  REQUIRE_CODE(stream.Ask({1}, {{true, 0}}), absl::StatusCode::kFailedPrecondition);
  counting.batcher->Stop();
  REQUIRE_CODE(stream.Await(), absl::StatusCode::kCancelled);
  REQUIRE_CODE(stream.Ask({1}, {{true, 0}}), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
