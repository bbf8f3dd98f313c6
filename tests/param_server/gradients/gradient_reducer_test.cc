#include "param_server/gradients/gradient_reducer.h"

#include <deque>
#include <optional>

#include "tests/param_server/gradients/gradient_fixture.h"

namespace waggle::testing {
namespace {

// The receiver of sums; the test answers them.
class Next final : public GradientTaker {
 public:
  void Take(GradientPush push, Answer answer) override { taken.emplace_back(std::move(push), std::move(answer)); }

  std::vector<float> ValuesAt(size_t i) const {
    const float* const data = taken[i].first.data.get();
    return {data, data + taken[i].first.model.NumElements()};
  }

  std::vector<std::pair<GradientPush, Answer>> taken;
};

struct Fixture {
  explicit Fixture(int64_t batch) : reducer({batch, absl::Seconds(1)}, &next, &metrics, [](const auto& f) { f(); }) {}

  Answered Take(GradientPush push) {
    Answered answered = NewAnswered();
    reducer.Take(std::move(push), Into(answered), now);
    return answered;
  }

  Next next;
  Metrics metrics;
  GradientReducer reducer;
  absl::Time now = absl::UnixEpoch();
};

GradientAnswer Applied(size_t members) {
  GradientAnswer answer;
  for (size_t i = 0; i < members; ++i) {
    answer.results.push_back({GradientVerdict::kApplied, {1, i + 1}, ""});
  }
  return answer;
}

TEST_CASE("a reducer pushes the sum of a batch and gives each member its own answer", "[unit]") {
  Fixture fixture(3);
  const Answered first = fixture.Take(PushOf({1, 2}, {Member("a", 1)}));
  const Answered two = fixture.Take(PushOf({10, 20}, {Member("b", 1), Member("c", 1)}));
  CHECK(fixture.next.taken.empty());
  const Answered last = fixture.Take(PushOf({100, 200}, {Member("d", 5)}));
  REQUIRE(fixture.next.taken.size() == 1);
  CHECK(fixture.next.ValuesAt(0) == std::vector<float>{111, 222});
  const GradientPush& sum = fixture.next.taken[0].first;
  REQUIRE(sum.members.size() == 4);
  CHECK(sum.members[3].worker_id == "d");
  CHECK(sum.members[3].sequence == 5);
  CHECK_FALSE(first->has_value());
  fixture.next.taken[0].second(Applied(4));
  CHECK((*first)->results[0].version.version == 1);
  REQUIRE((*two)->results.size() == 2);
  CHECK((*two)->results[1].version.version == 3);
  CHECK((*last)->results[0].version.version == 4);
  CHECK(CounterOf(fixture.metrics, "gradients_applied") == 4);
}

TEST_CASE("a reducer pushes an incomplete batch when its first gradient has waited long enough", "[unit]") {
  Fixture fixture(3);
  const GradientPush push = PushOf({1, 2}, {Member("a", 1)});
  const Answered answered = fixture.Take(push);
  CHECK(fixture.reducer.NextTick() == fixture.now + absl::Seconds(1));
  fixture.reducer.Tick(fixture.reducer.NextTick());
  REQUIRE(fixture.next.taken.size() == 1);
  CHECK(fixture.next.taken[0].first.data == push.data);
  fixture.next.taken[0].second(Applied(1));
  CHECK(VerdictOf(answered) == GradientVerdict::kApplied);
}

TEST_CASE("a sum is sent singly on request, and each member gets its own answer", "[unit]") {
  Fixture fixture(2);
  const Answered first = fixture.Take(PushOf({1, 2}, {Member("a", 1)}));
  const Answered second = fixture.Take(PushOf({3, 4}, {Member("b", 1)}));
  GradientAnswer split;
  split.send_singly = true;
  fixture.next.taken[0].second(split);
  REQUIRE(fixture.next.taken.size() == 3);
  CHECK(fixture.next.ValuesAt(2) == std::vector<float>{3, 4});
  CHECK_FALSE(second->has_value());
  fixture.next.taken[2].second(SameForAll(fixture.next.taken[2].first, GradientVerdict::kStale, "old"));
  CHECK(VerdictOf(second) == GradientVerdict::kStale);
  fixture.next.taken[1].second(Applied(1));
  CHECK(VerdictOf(first) == GradientVerdict::kApplied);
  CHECK(CounterOf(fixture.metrics, "gradients_refused_stale") == 1);
  CHECK(CounterOf(fixture.metrics, "gradients_pushed") == 2);
}

TEST_CASE("gradients of different models are never added", "[unit]") {
  Fixture fixture(2);
  fixture.Take(PushOf({1, 2}, {Member("a", 1)}));
  fixture.Take(PushOf({1, 2, 3}, {Member("b", 1)}));
  REQUIRE(fixture.next.taken.size() == 1);
  CHECK(fixture.next.ValuesAt(0) == std::vector<float>{1, 2, 3});
  fixture.Take(PushOf({5, 5}, {Member("c", 1)}));
  REQUIRE(fixture.next.taken.size() == 2);
  CHECK(fixture.next.ValuesAt(1) == std::vector<float>{6, 7});
}

TEST_CASE("a primary with reducers applies the same steps, also if gradients are repeated", "[unit]") {
  GradientPrimaryOptions options;
  options.mean = false;
  options.batch = 2;
  PrimaryCore primary(options, {0});
  Fixture one(2);
  Fixture other(2);
  one.Take(PushOf({1}, {Member("a", 1)}));
  one.Take(PushOf({2}, {Member("b", 1)}));
  // The worker b has lost its stream to the first reducer and repeats the gradient to the other one.
  const Answered again = other.Take(PushOf({2}, {Member("b", 1)}));
  other.Take(PushOf({4}, {Member("c", 1)}));
  const auto pass = [&primary](Fixture* reducer, size_t i) {
    primary.core.Take(reducer->next.taken[i].first, reducer->next.taken[i].second, primary.now);
  };
  pass(&one, 0);
  pass(&other, 0);
  REQUIRE(other.next.taken.size() == 3);
  pass(&other, 1);
  pass(&other, 2);
  CHECK(VerdictOf(again) == GradientVerdict::kApplied);
  CHECK(primary.values() == std::vector<float>{-7});
  CHECK(primary.Counter("gradients_applied") == 3);
}

}  // namespace
}  // namespace waggle::testing
