#include "cli/experiments/watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>

#include "cli/experiments/experiment_verbs.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/file_contents.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

// A hub whose experiment has the nth of these states at the nth request, and the output of a watch.
class Watched {
 public:
  explicit Watched(std::vector<v1::RunState> states) : states_(std::move(states)) {
    services_.workers.overview = testing::SampleSnapshot().overview;
    services_.experiments.before_get = [this] {
      const size_t look = std::min(looks_++, states_.size() - 1);
      info().set_state(states_[look]);
      // An experiment that is over is closed one request later.
      info().set_ended_at_us(looks_ > states_.size() ? 1'700'000'000'000'000 : 0);
      return before_ ? before_() : grpc::Status::OK;
    };
    file_ = open(folder_.File("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file_ >= 0);
  }
  ~Watched() { close(file_); }

  absl::StatusOr<int> Run(bool json = false, const StopToken& stop = StopToken()) {
    ProgressPrinter printer(file_, /*terminal=*/false, /*color=*/false);
    WatchOptions options;
    options.period = absl::Milliseconds(1);
    options.timeout = absl::Seconds(30);
    options.json_period = absl::ZeroDuration();
    return WatchExperiment({services_.address(), "pole-x7k2q", json}, stop, &printer, &json_, options);
  }
  std::string Out() const { return Contents(folder_.File("out")); }
  std::string Json() const { return json_.str(); }
  v1::ExperimentInfo& info() { return services_.experiments.experiments[0]; }
  size_t looks() const { return looks_; }
  void SetBefore(std::function<grpc::Status()> before) { before_ = std::move(before); }

 private:
  const testing::TemporaryFolder folder_;
  const std::vector<v1::RunState> states_;
  size_t looks_ = 0;
  std::function<grpc::Status()> before_;
  std::ostringstream json_;
  int file_ = -1;
  FakeServices services_;  // Last: its answers use all members above.
};

TEST_CASE("A watch goes from the queue to the experiment's end, which is the exit status", "[grpc]") {
  Watched watched({v1::RUN_STATE_QUEUED, v1::RUN_STATE_RUNNING, v1::RUN_STATE_SOLVED});
  watched.info().set_reason("some reason");
  CHECK(ValueOf(watched.Run()) == 0);
  CHECK(watched.looks() == 4);
  const std::string out = watched.Out();
  CHECK(out.find("queued: some reason\n") == 0);
  CHECK(out.find("evaluation: mean return 412.5") != std::string::npos);
  CHECK(out.find("198k env steps") != std::string::npos);
  CHECK(out.rfind("solved after ") > out.find("198k env steps"));
}

TEST_CASE("A limit succeeds without a target; other ends fail", "[grpc]") {
  const auto yaml = [](const std::string& target) {
    return ToYaml(
        ValueOf(ParseExperiment("algorithm: {name: apex_dqn}\nstop: {max_seconds: 60, target_return: " + target + "}\n",
                                "x", {}, BuiltinAlgorithmDefinitions())));
  };
  const std::tuple<v1::RunState, std::string, int> ends[] = {{v1::RUN_STATE_LIMIT, yaml("null"), 0},
                                                             {v1::RUN_STATE_LIMIT, yaml("475"), 1},
                                                             {v1::RUN_STATE_FAILED, "", 1},
                                                             {v1::RUN_STATE_STOPPED, "", 1}};
  for (const auto& [state, effective_yaml, status] : ends) {
    Watched watched({state});
    watched.info().set_effective_yaml(effective_yaml);
    CHECK(ValueOf(watched.Run()) == status);
  }
}

TEST_CASE("With --json a watch prints lines, the last one at the end", "[grpc]") {
  Watched watched({v1::RUN_STATE_RUNNING, v1::RUN_STATE_LIMIT});
  CHECK(ValueOf(watched.Run(/*json=*/true)) == 0);
  CHECK(watched.Out().empty());
  std::istringstream lines(watched.Json());
  std::vector<std::string> outcomes;
  for (std::string line; std::getline(lines, line);) {
    outcomes.push_back(nlohmann::json::parse(line)["outcome"].get<std::string>());
  }
  CHECK(outcomes == std::vector<std::string>{"running", "limit"});
}

TEST_CASE("A watch survives a hub that is away for a moment, but not one that never answered", "[grpc]") {
  Watched watched({v1::RUN_STATE_RUNNING, v1::RUN_STATE_RUNNING, v1::RUN_STATE_RUNNING, v1::RUN_STATE_SOLVED});
  watched.SetBefore([&watched] {
    return watched.looks() == 2 || watched.looks() == 3 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting")
                                                        : grpc::Status::OK;
  });
  CHECK(ValueOf(watched.Run()) == 0);
  const std::string out = watched.Out();
  CHECK(out.find("does not answer: restarting") != std::string::npos);
  CHECK(out.find("does not answer: restarting") == out.rfind("does not answer: restarting"));
  ProgressPrinter printer(-1, /*terminal=*/false, /*color=*/false);
  std::ostringstream none;
  REQUIRE_CODE(WatchExperiment({"127.0.0.1:1", "pole-x7k2q", false}, StopToken(), &printer, &none).status(),
               absl::StatusCode::kUnavailable);
  WatchOptions submitted;  // The hub answered a moment ago.
  submitted.has_answered = true;
  submitted.patience = absl::Milliseconds(1);
  submitted.period = absl::Milliseconds(2);
  REQUIRE_CODE(WatchExperiment({"127.0.0.1:1", "x", false}, StopToken(), &printer, &none, submitted).status(),
               absl::StatusCode::kUnavailable);
  const FakeServices services;
  REQUIRE_CODE(WatchExperiment({services.address(), "pole-00000", false}, StopToken(), &printer, &none).status(),
               absl::StatusCode::kNotFound);
}

TEST_CASE("A watch whose output cannot be written ends with an error", "[grpc]") {
  const FakeServices services;
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  ProgressPrinter printer(full, /*terminal=*/false, /*color=*/false);
  std::ostringstream out;
  const absl::Status people =
      WatchExperiment({services.address(), "pole-x7k2q", false}, StopToken(), &printer, &out).status();
  CHECK(ExperimentExitStatus(people) == 1);
  close(full);
  ProgressPrinter unused(-1, /*terminal=*/false, /*color=*/false);
  out.setstate(std::ios::badbit);
  const absl::Status programs =
      WatchExperiment({services.address(), "pole-x7k2q", true}, StopToken(), &unused, &out).status();
  CHECK(ExperimentExitStatus(programs) == 1);
}

TEST_CASE("A stop ends a watch", "[grpc]") {
  Watched watched({v1::RUN_STATE_RUNNING});
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(watched.Run(/*json=*/false, stop), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
