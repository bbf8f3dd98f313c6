#include "param_server/workers/step_history.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1'000'000) + absl::Seconds(seconds);
}

TEST_CASE("Between two reports an actor steps evenly", "[unit]") {
  StepHistory history;
  history.Add("a", 0, At(0));
  history.Add("a", 1'000, At(1));
  history.Add("a", 3'000, At(2));
  CHECK(history.Until(At(2), 4'000).value() == Approx(4'000));
  CHECK(history.Until(At(1.5), 4'000).value() == Approx(2'500));
  CHECK(history.Until(At(1), 4'000).value() == Approx(1'000));
  CHECK(history.Until(At(0.25), 4'000).value() == Approx(250));
  CHECK(history.Until(At(-1), 4'000).value() == Approx(0));
  CHECK(history.Until(At(0.5), 5'000).value() == Approx(1'500));  // 1 000 are from before.
}

TEST_CASE("Actors report in turns, and a moment is known exactly once all have", "[unit]") {
  StepHistory history;
  for (const char* worker : {"a", "b"}) {
    history.Add(worker, 0, At(0));
  }
  history.Add("a", 100, At(1));
  history.Add("b", 150, At(1.5));
  CHECK(history.Until(At(1.25), 250).value() == Approx(100 + 125));
  history.Add("a", 100, At(2));
  CHECK(history.Until(At(1.25), 350).value() == Approx(125 + 125));
  history.Add("b", 100, At(2.5));
  CHECK(history.Until(At(1.25), 450).value() == Approx(125 + 125));
}

TEST_CASE("Steps of an actor that has said nothing before count when they are heard of", "[unit]") {
  StepHistory history;
  history.Add("a", 500, At(5));
  CHECK(history.Until(At(4), 500).value() == 0);
  CHECK(history.Until(At(5), 500).value() == 500);
  history.Forget("a");
  history.Add("a", 10, At(6));
  CHECK(history.Until(At(5.5), 510).value() == 500);
  history.KeepOnly([](const std::string&) { return false; });
  history.Add("a", 10, At(8));
  CHECK(history.Until(At(7), 520).value() == 510);
}

TEST_CASE("What is too long ago is not made up", "[unit]") {
  StepHistory history;
  for (int i = 0; i < 20'000; ++i) {
    history.Add("a", 1, At(i));
  }
  CHECK_FALSE(history.Until(At(0), 20'000).has_value());
  CHECK(history.Until(At(15'000), 20'000).value() == Approx(15'001));
}

}  // namespace
}  // namespace waggle
