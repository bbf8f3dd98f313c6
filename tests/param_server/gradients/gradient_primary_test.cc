#include "param_server/gradients/gradient_primary.h"

#include <limits>

#include "tests/param_server/gradients/gradient_fixture.h"

namespace waggle::testing {
namespace {

GradientPrimaryOptions Options(bool mean, int64_t batch) {
  GradientPrimaryOptions options;
  options.mean = mean;
  options.batch = batch;
  options.flush_after = absl::Seconds(1);
  return options;
}

TEST_CASE("a step takes the sum or the mean of a batch, and each answer has its version", "[unit]") {
  for (const bool mean : {false, true}) {
    PrimaryCore primary(Options(mean, 2));
    const Answered first = primary.Take(PushOf({1, 2, 3}, {Member("a", 1)}));
    CHECK_FALSE(first->has_value());
    const Answered second = primary.Take(PushOf({3, 2, 5}, {Member("b", 1)}));
    CHECK(VerdictOf(first) == GradientVerdict::kApplied);
    CHECK((*second)->results[0].version == ModelVersion{1, 1});
    CHECK(primary.values() == (mean ? std::vector<float>{-1, 0, -1} : std::vector<float>{-3, -2, -5}));
    CHECK(primary.core.step() == 1);
  }
}

TEST_CASE("the mean is over all members of all sums", "[unit]") {
  PrimaryCore primary(Options(true, 2));
  primary.Take(PushOf({6, 0, 0}, {Member("a", 1), Member("b", 1)}));
  primary.Take(PushOf({3, 0, 0}, {Member("c", 1)}));
  CHECK(primary.values() == std::vector<float>{-2, 2, 3});
  CHECK(primary.Counter("gradients_applied") == 3);
}

TEST_CASE("an incomplete batch is applied when its first gradient has waited long enough", "[unit]") {
  PrimaryCore primary(Options(true, 8));
  CHECK(primary.core.NextTick() == absl::InfiniteFuture());
  const Answered answered = primary.Take(PushOf({1, 1, 1}, {Member("a", 1)}));
  CHECK(primary.core.NextTick() == primary.now + absl::Seconds(1));
  primary.core.Tick(primary.now + absl::Milliseconds(999));
  CHECK_FALSE(answered->has_value());
  primary.core.Tick(primary.now + absl::Seconds(1));
  CHECK(VerdictOf(answered) == GradientVerdict::kApplied);
  CHECK(primary.core.NextTick() == absl::InfiniteFuture());
}

TEST_CASE("a repeated gradient gets the same answer and is not applied again", "[unit]") {
  PrimaryCore primary(Options(true, 1));
  primary.Take(PushOf({1, 0, 0}, {Member("a", 1)}));
  const Answered again = primary.Take(PushOf({1, 0, 0}, {Member("a", 1)}));
  CHECK(VerdictOf(again) == GradientVerdict::kApplied);
  CHECK((*again)->results[0].version == ModelVersion{1, 1});
  // Also after its worker has acknowledged the answer.
  primary.Take(PushOf({1, 0, 0}, {Member("a", 2, {1, 1}, 1, 1)}));
  CHECK(VerdictOf(primary.Take(PushOf({1, 0, 0}, {Member("a", 1)}))) == GradientVerdict::kApplied);
  CHECK(primary.core.step() == 2);
  CHECK(primary.Counter("gradients_repeated") == 2);
  CHECK(primary.Counter("gradients_pushed") == 2);
  CHECK(primary.Counter("gradients_applied") == 2);
  // The sequences of another life begin again.
  GradientMember reborn = Member("a", 1);
  reborn.life = 1;
  CHECK((*primary.Take(PushOf({1, 0, 0}, {reborn})))->results[0].version == ModelVersion{1, 3});
}

TEST_CASE("a gradient that is repeated while the first one waits is answered with it", "[unit]") {
  PrimaryCore primary(Options(true, 2));
  const Answered first = primary.Take(PushOf({2, 0, 0}, {Member("a", 1)}));
  const Answered again = primary.Take(PushOf({2, 0, 0}, {Member("a", 1)}));
  CHECK_FALSE(again->has_value());
  primary.Take(PushOf({4, 0, 0}, {Member("b", 1)}));
  CHECK(VerdictOf(first) == GradientVerdict::kApplied);
  CHECK(VerdictOf(again) == GradientVerdict::kApplied);
  CHECK(primary.values() == std::vector<float>{-2, 2, 3});
}

TEST_CASE("a sum with a repeated, waiting or duplicate member must be sent singly", "[unit]") {
  PrimaryCore primary(Options(true, 2));
  const auto split = [&primary](std::vector<GradientMember> members) {
    const Answered answered = primary.Take(PushOf({1, 0, 0}, std::move(members)));
    return answered->has_value() && (*answered)->send_singly && (*answered)->results.empty();
  };
  primary.Take(PushOf({1, 0, 0}, {Member("a", 1)}));
  CHECK(split({Member("a", 1), Member("b", 1)}));
  primary.Take(PushOf({1, 0, 0}, {Member("c", 1)}));
  CHECK(split({Member("b", 1), Member("a", 1)}));
  CHECK(split({Member("b", 1), Member("b", 1)}));
  CHECK(primary.core.step() == 1);
  CHECK_FALSE(split({Member("b", 1), Member("d", 1)}));
}

TEST_CASE("a gradient above the bound on staleness is refused, or counts less", "[unit]") {
  GradientPrimaryOptions options = Options(false, 1);
  options.max_staleness = 1;
  SECTION("refused") {
    PrimaryCore primary(options);
    for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
      CHECK(VerdictOf(primary.Take(PushOf({0, 0, 0}, {Member("a", sequence, {1, sequence - 1})}))) ==
            GradientVerdict::kApplied);
    }
    const Answered stale = primary.Take(PushOf({1, 1, 1}, {Member("b", 1, {1, 0})}));
    CHECK(VerdictOf(stale) == GradientVerdict::kStale);
    CHECK((*stale)->results[0].message.find("2 steps ago; at most 1") != std::string::npos);
    CHECK(VerdictOf(primary.Take(PushOf({1, 1, 1}, {Member("b", 2, {1, 1})}))) == GradientVerdict::kApplied);
    CHECK(primary.Counter("gradients_refused_stale") == 1);
    CHECK(primary.Counter("gradients_pushed") ==
          primary.Counter("gradients_applied") + primary.Counter("gradients_refused"));
    // Each member of a sum has its own answer.
    CHECK((*primary.Take(PushOf({1, 1, 1}, {Member("c", 1, {1, 3}), Member("d", 1, {1, 0})})))->send_singly);
  }
  SECTION("scaled") {
    options.scale_stale = true;
    options.first_step = 3;
    PrimaryCore primary(options);
    // Three steps ago, two above the bound.
    CHECK(VerdictOf(primary.Take(PushOf({3, 0, 0}, {Member("b", 1, {1, 0})}))) == GradientVerdict::kApplied);
    CHECK(primary.values()[0] == Approx(1 - 3.0 / 3));
  }
}

TEST_CASE("weights of an earlier epoch have the age of their steps, unless a restart has undone them", "[unit]") {
  GradientPrimaryOptions options = Options(true, 1);
  options.epoch = 2;
  options.first_step = 10;
  options.max_staleness = 4;
  options.scale_stale = true;
  PrimaryCore primary(options);
  CHECK(VerdictOf(primary.Take(PushOf({0, 0, 0}, {Member("a", 1, {1, 9})}))) == GradientVerdict::kApplied);
  CHECK(VerdictOf(primary.Take(PushOf({0, 0, 0}, {Member("a", 2, {1, 11})}))) == GradientVerdict::kStale);
  options.max_staleness = std::nullopt;
  PrimaryCore unbounded(options);
  CHECK(VerdictOf(unbounded.Take(PushOf({0, 0, 0}, {Member("a", 1, {1, 11})}))) == GradientVerdict::kApplied);
}

TEST_CASE("gradients of future weights and of another network are refused with a reason", "[unit]") {
  PrimaryCore primary(Options(true, 1));
  const Answered future = primary.Take(PushOf({1, 1, 1}, {Member("a", 1, {1, 7})}));
  CHECK(VerdictOf(future) == GradientVerdict::kFuture);
  CHECK((*future)->results[0].message ==
        "the gradient is based on epoch 1, version 7; the newest is epoch 1, version 0");
  CHECK(VerdictOf(primary.Take(PushOf({1, 1, 1}, {Member("a", 2, {2, 0})}))) == GradientVerdict::kFuture);
  CHECK(VerdictOf(primary.Take(PushOf({1, 1}, {Member("a", 3)}))) == GradientVerdict::kWrongModel);
  GradientPush other = PushOf({1, 1, 1}, {Member("a", 4)});
  other.model.network_hash = 1;
  CHECK(VerdictOf(primary.Take(std::move(other))) == GradientVerdict::kWrongModel);
  GradientPush sequence = PushOf({1, 1, 1}, {Member("a", 5 + kMaxGradientsAhead)});
  CHECK(VerdictOf(primary.Take(std::move(sequence))) == GradientVerdict::kMalformed);
  CHECK(primary.values() == std::vector<float>{1, 2, 3});
  CHECK(primary.Counter("gradients_refused") == 5);
  CHECK(primary.Counter("gradients_pushed") == 5);
}

TEST_CASE("gradients whose sum is not finite are refused together and change nothing", "[unit]") {
  PrimaryCore primary(Options(false, 2));
  const float large = std::numeric_limits<float>::max();
  const Answered first = primary.Take(PushOf({large, 0, 0}, {Member("a", 1)}));
  const Answered second = primary.Take(PushOf({large, 0, 0}, {Member("b", 1)}));
  CHECK(VerdictOf(first) == GradientVerdict::kNotFinite);
  CHECK(VerdictOf(second) == GradientVerdict::kNotFinite);
  CHECK(primary.values() == std::vector<float>{1, 2, 3});
  CHECK(primary.core.step() == 0);
}

TEST_CASE("after its last step, and after its end, a primary refuses all gradients", "[unit]") {
  GradientPrimaryOptions options = Options(true, 1);
  options.max_steps = 1;
  PrimaryCore primary(options);
  CHECK(VerdictOf(primary.Take(PushOf({0, 0, 0}, {Member("a", 1)}))) == GradientVerdict::kApplied);
  CHECK(primary.core.over());
  CHECK(VerdictOf(primary.Take(PushOf({0, 0, 0}, {Member("a", 2)}))) == GradientVerdict::kTrainingOver);

  PrimaryCore ended(Options(true, 2));
  const Answered waiting = ended.Take(PushOf({0, 0, 0}, {Member("a", 1)}));
  const Answered repeated = ended.Take(PushOf({0, 0, 0}, {Member("a", 1)}));
  ended.core.End();
  CHECK(VerdictOf(waiting) == GradientVerdict::kTrainingOver);
  CHECK(VerdictOf(repeated) == GradientVerdict::kTrainingOver);
  CHECK(ended.core.step() == 0);
}

TEST_CASE("a primary that goes on from a checkpoint applies nothing twice and counts undone gradients", "[unit]") {
  PrimaryCore primary(Options(false, 1));
  primary.Take(PushOf({1, 0, 0}, {Member("a", 1)}));
  CheckpointContents contents;
  primary.parameters->Save(&contents);
  const std::string settled = primary.settled.ToText();
  primary.Take(PushOf({1, 0, 0}, {Member("a", 2)}));  // Lost with the primary, though its worker has the answer.

  GradientPrimaryOptions options = Options(false, 1);
  options.epoch = 2;
  options.first_step = 1;
  PrimaryCore next(options, {1, 2, 3}, ValueOf(SettledGradients::FromText(settled)));
  REQUIRE_OK(next.parameters->Restore(contents));
  CHECK((*next.Take(PushOf({1, 0, 0}, {Member("a", 1)})))->results[0].version == ModelVersion{1, 1});
  CHECK(next.Counter("gradients_rolled_back") == 0);
  CHECK(VerdictOf(next.Take(PushOf({1, 0, 0}, {Member("a", 3, {1, 1}, 2, 2)}))) == GradientVerdict::kApplied);
  CHECK(next.Counter("gradients_rolled_back") == 1);
  CHECK(next.values() == std::vector<float>{-1, 2, 3});
  CHECK(next.core.step() == 2);
}

}  // namespace
}  // namespace waggle::testing
