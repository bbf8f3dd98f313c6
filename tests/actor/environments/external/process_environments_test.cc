#include "actor/environments/external/process_environments.h"

#include <signal.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr int64_t kCells = 8;

ProcessEnvironmentsOptions Corridor(int64_t lanes, int64_t processes) {
  ProcessEnvironmentsOptions options;
  options.command = {WAGGLE_CORRIDOR};
  options.scheme = "corridor";
  options.options_json = "{}";
  options.environment_name = "Corridor";
  options.lanes = lanes;
  options.processes = processes;
  options.restarts.first_retry = absl::Milliseconds(1);
  return options;
}

// A lane's last row.
struct Shown {
  int32_t step_type = -1;
  float reward = 0;
  float discount = 0;
  int64_t cell = -1;
};

// Chooses an action for each ready lane, and saves its row.
class Driver {
 public:
  explicit Driver(ProcessEnvironments* environments)
      : environments_(environments), shown_(static_cast<size_t>(environments->lanes())) {}

  ReadyLanes Receive(int64_t at_least) {
    const ReadyLanes ready = ValueOf(environments_->Recv(at_least, StopToken()));
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      Shown& shown = shown_[static_cast<size_t>(ready.lanes[row])];
      shown.step_type = ready.step_types[row];
      shown.reward = ready.rewards[0][row];
      shown.discount = ready.discounts[row];
      shown.cell = -1;
      const float* const observation = static_cast<const float*>(ready.observations[0]) + row * kCells;
      for (int64_t cell = 0; cell < kCells; ++cell) {
        shown.cell = observation[cell] == 1 ? cell : shown.cell;
      }
      CHECK((ready.first[row] != 0) == (shown.step_type == 0));
    }
    return ready;
  }
  void Send(absl::Span<const int64_t> lanes, int64_t action) {
    const std::vector<int64_t> actions(lanes.size(), action);
    const void* const arrays[] = {actions.data()};
    REQUIRE_OK(environments_->Send(lanes, arrays));
  }
  const Shown& of(int64_t lane) const { return shown_[static_cast<size_t>(lane)]; }

 private:
  ProcessEnvironments* const environments_;
  std::vector<Shown> shown_;
};

TEST_CASE("Lanes of environment processes show their episodes from the first row to the last", "[unit]") {
  const auto environments = ValueOf(ProcessEnvironments::Create(Corridor(5, 2), StopToken()));
  CHECK(environments->spec().name == "Corridor");
  CHECK(environments->spec().observations[0].array.shape == std::vector<int64_t>{kCells});
  CHECK(environments->lanes() == 5);
  REQUIRE_OK(environments->Reset());
  Driver driver(environments.get());
  ReadyLanes ready = driver.Receive(5);
  REQUIRE(ready.lanes.size() == 5);
  for (int64_t step = 0; step <= 2 * kCells; ++step) {
    for (int64_t lane = 0; lane < 5; ++lane) {
      const int64_t at = step % kCells;
      const bool last = at == kCells - 1;
      CHECK(driver.of(lane).cell == at);
      CHECK(driver.of(lane).step_type == (at == 0 ? 0 : last ? 2 : 1));
      CHECK(driver.of(lane).reward == (last ? 1 : 0));
      CHECK(driver.of(lane).discount == (at == 0 || last ? 0 : 1));
    }
    driver.Send(ready.lanes, 1);
    ready = driver.Receive(5);
  }
}

TEST_CASE("Groups of lanes do not wait for each other", "[unit]") {
  const auto environments = ValueOf(ProcessEnvironments::Create(Corridor(4, 1), StopToken()));
  REQUIRE_OK(environments->Reset());
  Driver driver(environments.get());
  driver.Receive(4);
  const std::vector<int64_t> group = {0, 1};
  for (int64_t step = 1; step < 5; ++step) {
    driver.Send(group, 1);
    driver.Receive(2);
    CHECK(driver.of(0).cell == step);
    CHECK(driver.of(2).cell == 0);
  }
}

TEST_CASE("A truncated episode has a discount of 1", "[unit]") {
  const auto environments = ValueOf(ProcessEnvironments::Create(Corridor(1, 1), StopToken()));
  REQUIRE_OK(environments->Reset());
  Driver driver(environments.get());
  ReadyLanes ready = driver.Receive(1);
  for (int64_t step = 0; step < 100; ++step) {
    driver.Send(ready.lanes, 0);
    ready = driver.Receive(1);
  }
  CHECK(driver.of(0).step_type == 2);
  CHECK(driver.of(0).discount == 1);
}

// This process's children that run the executable.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(entry.path() / "exe", none);
    if (!none && target == std::filesystem::canonical(WAGGLE_CORRIDOR)) {
      children.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    }
  }
  return children;
}

TEST_CASE("A killed process is restarted, and its lanes' episodes are truncated", "[unit]") {
  const auto environments = ValueOf(ProcessEnvironments::Create(Corridor(4, 2), StopToken()));
  REQUIRE_OK(environments->Reset());
  Driver driver(environments.get());
  ReadyLanes ready = driver.Receive(4);
  driver.Send(ready.lanes, 1);
  ready = driver.Receive(4);
  const std::vector<pid_t> children = Children();
  REQUIRE(children.size() == 2);
  kill(children[0], SIGKILL);
  // The other lanes may reach an episode's end meanwhile.
  std::vector<int64_t> steps(4, 1);
  std::set<int64_t> broken;
  std::set<int64_t> begun;
  while (begun.size() < 2) {
    driver.Send(ready.lanes, 0);
    ready = driver.Receive(1);
    for (const int64_t lane : ready.lanes) {
      int64_t& length = steps[static_cast<size_t>(lane)];
      ++length;
      if (driver.of(lane).step_type == 2 && length < 100) {
        CHECK(driver.of(lane).discount == 1);
        CHECK(driver.of(lane).reward == 0);
        broken.insert(lane);
      } else if (driver.of(lane).step_type == 0) {
        length = 0;
        if (broken.count(lane) > 0) {
          begun.insert(lane);
        }
      }
    }
  }
  CHECK(broken.size() == 2);
  CHECK(environments->health().restarts == 1);
  CHECK_THAT(environments->health().last_error, Catch::Contains("Corridor"));
}

TEST_CASE("Lanes that step together continue after their process is lost at any step of their episodes", "[unit]") {
  ProcessEnvironmentsOptions options = Corridor(4, 1);
  options.options_json = R"({"whole_groups":true})";
  for (const int64_t steps : {3, 7}) {  // In the middle of all episodes, and at the end of some.
    const auto environments = ValueOf(ProcessEnvironments::Create(options, StopToken()));
    REQUIRE(environments->lanes_step_together());
    REQUIRE_OK(environments->Reset());
    Driver driver(environments.get());
    ReadyLanes ready = driver.Receive(4);
    const auto send = [&] {
      std::vector<int64_t> actions;
      for (const int64_t lane : ready.lanes) {
        actions.push_back(lane % 2);
      }
      const void* const arrays[] = {actions.data()};
      REQUIRE_OK(environments->Send(ready.lanes, arrays));
    };
    for (int64_t step = 0; step < steps; ++step) {
      send();
      ready = driver.Receive(4);
    }
    CHECK((driver.of(1).step_type == 2) == (steps == 7));
    kill(Children()[0], SIGKILL);
    for (int64_t step = 0; step < 40; ++step) {
      send();
      ready = driver.Receive(4);
      REQUIRE(ready.lanes.size() == 4);
    }
    CHECK(environments->health().restarts == 1);
    CHECK(environments->health().broken_episodes == 4);
  }
}

TEST_CASE("A command that is not an environment process is refused", "[unit]") {
  ProcessEnvironmentsOptions options = Corridor(1, 1);
  options.command = {"/bin/true"};
  CHECK_FALSE(ProcessEnvironments::Create(options, StopToken()).ok());
  options.command = {"/no/such/program"};
  CHECK(absl::IsNotFound(ProcessEnvironments::Create(options, StopToken()).status()));
  options.command = {"/bin/sleep", "100"};
  options.open_timeout = absl::Milliseconds(10);
  CHECK_FALSE(ProcessEnvironments::Create(options, StopToken()).ok());
  const StopToken stopped;
  stopped.RequestStop();
  CHECK(absl::IsCancelled(ProcessEnvironments::Create(Corridor(1, 1), stopped).status()));
}

}  // namespace
}  // namespace waggle::testing
