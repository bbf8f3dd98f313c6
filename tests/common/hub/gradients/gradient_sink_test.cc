#include "common/hub/gradients/gradient_sink.h"

#include <vector>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {
namespace {

class Taker final : public GradientTaker {
 public:
  void Take(GradientPush push, Answer answer) override { taken.emplace_back(std::move(push), std::move(answer)); }
  const GradientMember& Member(size_t i) const { return taken[i].first.members[0]; }
  void AnswerAt(size_t i, GradientVerdict verdict) { taken[i].second(SameForAll(taken[i].first, verdict, "words")); }

  std::vector<std::pair<GradientPush, Answer>> taken;
};

GradientSinkOptions Options(int64_t max_unacknowledged) {
  return {GradientModel{1, {{"policy", 1}}}, "actor-1", 3, max_unacknowledged};
}

void PushOne(GradientSink* sink) {
  REQUIRE_OK(sink->Push(std::make_shared<float>(1.0F), {2, 7}, StopToken()));
}

TEST_CASE("a worker's gradients have sequences, and name the last answered one", "[unit]") {
  Taker taker;
  Metrics metrics;
  const auto sink = NewGradientSink(Options(10), &taker, &metrics);
  for (int i = 0; i < 3; ++i) {
    PushOne(sink.get());
  }
  CHECK(taker.Member(0).worker_id == "actor-1");
  CHECK(taker.Member(0).life == 3);
  CHECK(taker.Member(2).sequence == 3);
  CHECK(taker.Member(2).based_on == ModelVersion{2, 7});
  taker.AnswerAt(1, GradientVerdict::kApplied);
  PushOne(sink.get());
  CHECK(taker.Member(3).acknowledged == 0);  // The first is not answered.
  taker.AnswerAt(0, GradientVerdict::kStale);
  PushOne(sink.get());
  CHECK(taker.Member(4).acknowledged == 2);
  CHECK(taker.Member(4).applied == 1);
  const GradientCounts counts = sink->counts();
  CHECK(counts.pushed == 5);
  CHECK(counts.applied == 1);
  CHECK(counts.refused.at(GradientVerdict::kStale) == 1);
  CHECK(counts.last_refusal == "words");
  CHECK(metrics.TakeSnapshot().counters.at("gradients_refused_stale") == 1);
  REQUIRE_CODE(sink->Flush(absl::ZeroDuration(), StopToken()), absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("a push waits while too many gradients are unanswered, until a stop at the latest", "[unit]") {
  Taker taker;
  const auto sink = NewGradientSink(Options(1), &taker, nullptr);
  PushOne(sink.get());
  {
    const StopToken stop;
    absl::Status status;
    {
      const Thread thread("pusher", [&] { status = sink->Push(std::make_shared<float>(1.0F), {}, stop); });
      stop.RequestStop();
    }
    REQUIRE_CODE(status, absl::StatusCode::kCancelled);
  }
  {
    const Thread thread("answers", [&] { taker.AnswerAt(0, GradientVerdict::kApplied); });
    PushOne(sink.get());
  }
  CHECK(taker.Member(1).sequence == 2);
  taker.AnswerAt(1, GradientVerdict::kApplied);
  REQUIRE_OK(sink->Flush(absl::Minutes(1), StopToken()));
}

TEST_CASE("answers may come after the sink is destroyed", "[unit]") {
  Taker taker;
  Metrics metrics;
  REQUIRE_OK(NewGradientSink(Options(1), &taker, &metrics)->Push(std::make_shared<float>(1.0F), {}, StopToken()));
  taker.AnswerAt(0, GradientVerdict::kApplied);
  CHECK(metrics.TakeSnapshot().counters.at("gradients_applied") == 1);
}

}  // namespace
}  // namespace waggle::testing
