#include "actor/environments/threaded_environments.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::ValueOf;

constexpr int64_t kLanes = 7;
constexpr int64_t kMaxSteps = 5;

std::vector<std::unique_ptr<Environment>> Copies() {
  return ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(3)));
}

// A lane's rows.
struct Stream {
  std::vector<float> numbers;

  void Add(const ReadyLanes& ready, size_t row) {
    const auto* const observation = static_cast<const float*>(ready.observations[0]) + 3 * row;
    numbers.insert(numbers.end(), observation, observation + 3);
    numbers.insert(numbers.end(), {static_cast<float>(ready.step_types[row]), static_cast<float>(ready.first[row]),
                                   ready.rewards[0][row], ready.discounts[row]});
  }
};

// Steps until each lane has shown `rows` rows. A lane's action follows from its number and its row.
std::vector<Stream> Play(VectorEnvironment* environments, int64_t at_least, size_t rows) {
  std::vector<Stream> streams(kLanes);
  std::vector<int64_t> shown(kLanes);
  REQUIRE_OK(environments->Reset());
  int64_t under_way = kLanes;
  while (under_way > 0) {
    const ReadyLanes ready = ValueOf(environments->Recv(std::min(at_least, under_way), StopToken()));
    std::vector<int64_t> lanes;
    std::vector<int64_t> actions;
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      const auto lane = static_cast<size_t>(ready.lanes[row]);
      streams[lane].Add(ready, row);
      if (++shown[lane] < static_cast<int64_t>(rows)) {
        lanes.push_back(ready.lanes[row]);
        actions.push_back((ready.lanes[row] + shown[lane]) % 2);
      }
    }
    under_way += static_cast<int64_t>(lanes.size()) - static_cast<int64_t>(ready.lanes.size());
    REQUIRE_OK(environments->Send(lanes, {actions.data()}));
  }
  return streams;
}

TEST_CASE("lanes stepped by several threads have the rows of lanes stepped by one", "[unit]") {
  const int64_t threads = GENERATE(1, 2, 3, 20);
  const int64_t at_least = GENERATE(1, 4, 7);
  const bool in_order = GENERATE(false, true);
  CAPTURE(threads, at_least, in_order);
  LocalVectorEnvironment alone(Copies());
  ThreadedEnvironments threaded(Copies(), threads, in_order);
  CHECK(threaded.lanes() == kLanes);
  CHECK(threaded.spec() == alone.spec());
  const std::vector<Stream> expected = Play(&alone, kLanes, 40);
  const std::vector<Stream> got = Play(&threaded, at_least, 40);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    CHECK(got[lane].numbers == expected[lane].numbers);
  }
}

TEST_CASE("lanes in order are given by their numbers, whichever thread steps them", "[unit]") {
  ThreadedEnvironments environments(Copies(), 3, /*in_order=*/true);
  REQUIRE_OK(environments.Reset());
  const std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6};
  ReadyLanes ready = ValueOf(environments.Recv(kLanes, StopToken()));
  CHECK(std::vector<int64_t>(ready.lanes.begin(), ready.lanes.end()) == all);
  const std::vector<int64_t> actions(kLanes, 1);
  REQUIRE_OK(environments.Send({5, 3, 0}, {actions.data()}));
  REQUIRE_OK(environments.Send({6, 1}, {actions.data()}));
  ready = ValueOf(environments.Recv(1, StopToken()));
  CHECK(std::vector<int64_t>(ready.lanes.begin(), ready.lanes.end()) == std::vector<int64_t>{0, 1, 3, 5, 6});
}

TEST_CASE("an episode may be started in some lanes while others are under way", "[unit]") {
  ThreadedEnvironments environments(Copies(), 2, /*in_order=*/false);
  REQUIRE_OK(environments.Start({0, 6}));
  std::vector<int64_t> began;
  while (began.size() < 2) {
    const ReadyLanes ready = ValueOf(environments.Recv(1, StopToken()));
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      CHECK(ready.first[row] == 1);
      began.push_back(ready.lanes[row]);
    }
  }
  std::sort(began.begin(), began.end());
  CHECK(began == std::vector<int64_t>{0, 6});
}

// Waits for its test in each step.
class Waiting final : public CountingEnvironment {
 public:
  Waiting(uint64_t seed, StopToken go) : CountingEnvironment(kMaxSteps, seed), go_(std::move(go)) {}
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override {
    go_.Wait();
    return CountingEnvironment::Step(actions, observations, rewards);
  }

 private:
  const StopToken go_;
};

TEST_CASE("a stop ends the wait for a step, which then ends by itself", "[unit]") {
  const StopToken go;
  std::vector<std::unique_ptr<Environment>> copies;
  copies.push_back(std::make_unique<CountingEnvironment>(kMaxSteps, 1));
  copies.push_back(std::make_unique<Waiting>(2, go));
  ThreadedEnvironments environments(std::move(copies), 2, /*in_order=*/false);
  REQUIRE_OK(environments.Reset());
  ValueOf(environments.Recv(2, StopToken()));
  const std::vector<int64_t> actions(2, 1);
  REQUIRE_OK(environments.Send({0, 1}, {actions.data()}));
  // The other lane does not wait.
  const ReadyLanes ready = ValueOf(environments.Recv(1, StopToken()));
  CHECK(std::vector<int64_t>(ready.lanes.begin(), ready.lanes.end()) == std::vector<int64_t>{0});
  StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(environments.Recv(1, stop), absl::StatusCode::kCancelled);
  go.RequestStop();
}

TEST_CASE("a reset drops the rows of lanes that are being stepped", "[unit]") {
  const bool in_order = GENERATE(false, true);
  ThreadedEnvironments environments(Copies(), 3, in_order);
  REQUIRE_OK(environments.Reset());
  ValueOf(environments.Recv(kLanes, StopToken()));
  const std::vector<int64_t> actions(kLanes, 1);
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(environments.Send({0, 1, 2, 3, 4, 5, 6}, {actions.data()}));
    REQUIRE_OK(environments.Reset());
  }
  int64_t begun = 0;
  while (begun < kLanes) {
    const ReadyLanes ready = ValueOf(environments.Recv(1, StopToken()));
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      CHECK(ready.first[row] == 1);
      CHECK(ready.rewards[0][row] == 0);
    }
    begun += static_cast<int64_t>(ready.lanes.size());
  }
  CHECK(begun == kLanes);
}

TEST_CASE("an error names the lane by its number among all", "[unit]") {
  ThreadedEnvironments environments(Copies(), 7, /*in_order=*/false);
  REQUIRE_OK(environments.Reset());
  ValueOf(environments.Recv(kLanes, StopToken()));
  const int64_t wrong = 77;
  REQUIRE_OK(environments.Send({4}, {&wrong}));
  const auto failed = environments.Recv(1, StopToken());
  REQUIRE_CODE(failed, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(failed.status().message()), Catch::Contains("lane 4"));
}

}  // namespace
}  // namespace waggle
