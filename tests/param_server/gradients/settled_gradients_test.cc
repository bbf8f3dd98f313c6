#include "param_server/gradients/settled_gradients.h"

#include "tests/param_server/gradients/gradient_fixture.h"

namespace waggle::testing {
namespace {

GradientResult Applied(uint64_t version) {
  return {GradientVerdict::kApplied, {1, version}, ""};
}

TEST_CASE("results are kept until their worker has them", "[unit]") {
  SettledGradients settled;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    REQUIRE_OK(settled.Hear(Member("a", sequence)));
    CHECK_FALSE(settled.Find(Member("a", sequence)).has_value());
    settled.Settle(Member("a", sequence),
                   sequence == 2 ? GradientResult{GradientVerdict::kStale, {}, "old"} : Applied(sequence));
  }
  CHECK(settled.Find(Member("a", 3))->version.version == 3);
  CHECK(settled.Find(Member("a", 2))->message == "old");
  REQUIRE_OK(settled.Hear(Member("a", 4, {}, 2, 1)));
  CHECK(settled.Find(Member("a", 2))->verdict == GradientVerdict::kApplied);
  CHECK(settled.Find(Member("a", 3))->version.version == 3);
  CHECK(settled.rolled_back() == 0);
}

TEST_CASE("results survive as text, and later results that a worker knows are rolled back", "[unit]") {
  SettledGradients before;
  REQUIRE_OK(before.Hear(Member("a", 1)));
  before.Settle(Member("a", 1), Applied(1));
  REQUIRE_OK(before.Hear(Member("a", 2, {}, 1, 1)));
  before.Settle(Member("a", 2), {GradientVerdict::kFuture, {}, "words"});
  REQUIRE_OK(before.Hear(Member("b/1", 1)));
  const std::string text = before.ToText();
  SettledGradients after = ValueOf(SettledGradients::FromText(text));
  CHECK(after.ToText() == text);
  CHECK(after.Find(Member("a", 2))->verdict == GradientVerdict::kFuture);
  // 3 and 4 were settled after the text, one of them applied.
  REQUIRE_OK(after.Hear(Member("a", 5, {}, 4, 2)));
  CHECK(after.rolled_back() == 1);
  REQUIRE_OK(after.Hear(Member("a", 6, {}, 4, 2)));
  CHECK(after.rolled_back() == 1);
}

TEST_CASE("wrong sequences and texts are refused", "[unit]") {
  SettledGradients settled;
  REQUIRE_CODE(settled.Hear(Member("a", 0)), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(settled.Hear(Member("a", kMaxGradientsAhead + 7, {}, 7)));
  REQUIRE_CODE(settled.Hear(Member("a", kMaxGradientsAhead + 8, {}, 7)), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(settled.Hear(Member("a", 9, {}, 7, 8)), absl::StatusCode::kInvalidArgument);
  for (const char* text : {"a", "a 0 0", "a 0 0 x", "a 0 0 0 1:0:1", "a 0 0 0 1:9:1:1", "a 0 0 0 1:0:1:1 1:0:1:1"}) {
    REQUIRE_CODE(SettledGradients::FromText(text), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("the life with the oldest report is forgotten beyond the limit", "[unit]") {
  SettledGradients settled(2);
  for (const char* worker : {"a", "b", "a", "c"}) {
    REQUIRE_OK(settled.Hear(Member(worker, 1)));
    if (!settled.Find(Member(worker, 1)).has_value()) {
      settled.Settle(Member(worker, 1), Applied(1));
    }
  }
  CHECK(settled.Find(Member("a", 1)).has_value());
  CHECK_FALSE(settled.Find(Member("b", 1)).has_value());
  CHECK(settled.Find(Member("c", 1)).has_value());
}

}  // namespace
}  // namespace waggle::testing
