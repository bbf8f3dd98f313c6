// This is Waggle's client at a server that is made with the package dm-env-rpc.

#include <signal.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/environments/rpc/open_rpc_environments.h"
#include "common/base/process/child_process.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

constexpr char kPython[] = WAGGLE_DM_ENV_RPC_PYTHON;

class PythonServer {
 public:
  explicit PythonServer(const std::string& log, int port = 0) {
    ChildOptions options;
    options.command = {kPython, WAGGLE_PYTHON_SERVER, absl::StrCat(port)};
    options.log_path = log;
    process_ = ValueOf(ChildProcess::Spawn(options));
    Eventually("the server says its port", [&] {
      std::ifstream file(log);
      std::string word;
      return static_cast<bool>(file >> word >> port_) && word == "port";
    });
  }

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void Kill() {
    process_->Signal(SIGKILL);
    Eventually("the server has ended", [&] { return process_->Poll().has_value(); });
  }

 private:
  std::unique_ptr<ChildProcess> process_;
  int port_ = 0;
};

DmEnvRpcOptions At(const PythonServer& server) {
  DmEnvRpcOptions options;
  options.address = {server.address()};
  options.world = R"({"level": "line"})";
  options.seed = "world";
  options.observations = {"board", "place.now", "steps", "at_edge"};
  return options;
}

// The next row that a lane must show after its last command.
struct Lane {
  int64_t place = 0;
  int64_t steps = 0;
  int32_t type = 2;
};

TEST_CASE("Lanes at a server in Python show what it does", "[e2e]") {
  const TemporaryFolder folder;
  const PythonServer server(folder.File("log"));
  const auto environment = ValueOf(OpenRpcEnvironments(At(server), 4, /*in_order=*/false, Rng(1), StopToken()));
  const EnvironmentSpec& spec = environment->spec();
  CHECK(spec.DebugString() ==
        "dm_env_rpc (observation/at_edge: bool[], observation/board: uint8[2, 7] in [0, 255], "
        "observation/place/now: float32[], observation/steps: int64[], action/paddle: int64[] of 3 choices, "
        "action/turn: float32[2] in [-2, 0.1])");
  REQUIRE_OK(environment->Reset());
  std::vector<Lane> lanes(4);
  Rng rng(3);
  std::vector<int64_t> chosen(4);
  int terminated = 0;
  int interrupted = 0;
  while (terminated < 20 || interrupted < 20) {
    const ReadyLanes ready = ValueOf(environment->Recv(1, StopToken()));
    std::vector<int64_t> paddles;
    std::vector<float> turns;
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      const auto number = static_cast<size_t>(ready.lanes[row]);
      Lane& lane = lanes[number];
      const bool begins = lane.type == 2;
      lane.place = begins ? 0 : lane.place + chosen[number] - 1;
      lane.steps = begins ? 0 : lane.steps + 1;
      const bool at_edge = lane.place == 3 || lane.place == -3;
      const bool cut_off = !at_edge && lane.steps == 10;
      terminated += at_edge ? 1 : 0;
      interrupted += cut_off ? 1 : 0;
      lane.type = ready.step_types[row];
      CHECK(lane.type == (begins ? 0 : at_edge || cut_off ? 2 : 1));
      CHECK(ready.discounts[row] == (begins || at_edge ? 0 : 1));
      CHECK((static_cast<const uint8_t*>(ready.observations[0])[row] != 0) == at_edge);
      const auto* const board = static_cast<const uint8_t*>(ready.observations[1]) + 14 * row;
      CHECK(board[7 + 3 + lane.place] == 255);
      CHECK(static_cast<const float*>(ready.observations[2])[row] == static_cast<float>(lane.place));
      CHECK(static_cast<const int64_t*>(ready.observations[3])[row] == lane.steps);
      // Both turns at their highest bound, which no float32 is.
      CHECK(ready.rewards[0][row] == Approx(begins ? 0 : 0.2));
      // Some lanes stay where they are.
      chosen[number] = number % 2 == 0 ? 1 : static_cast<int64_t>(rng.UniformInt(3));
      paddles.push_back(chosen[number]);
      turns.insert(turns.end(), {1, 1});
    }
    const void* const actions[] = {paddles.data(), turns.data()};
    REQUIRE_OK(environment->Send(ready.lanes, actions));
  }
  CHECK(environment->health().restarts == 0);
}

TEST_CASE("A server in Python that is killed and started again goes on with its lanes", "[e2e]") {
  const TemporaryFolder folder;
  auto server = std::make_unique<PythonServer>(folder.File("log"));
  const auto environment = ValueOf(OpenRpcEnvironments(At(*server), 2, /*in_order=*/false, Rng(1), StopToken()));
  REQUIRE_OK(environment->Reset());
  int64_t rows = 0;
  int64_t begun = 0;
  while (begun < 2) {
    const ReadyLanes ready = ValueOf(environment->Recv(1, StopToken()));
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      begun += environment->health().broken_episodes == 2 && ready.first[row] != 0 ? 1 : 0;
    }
    rows += static_cast<int64_t>(ready.lanes.size());
    const std::vector<int64_t> still(ready.lanes.size(), 1);
    const std::vector<float> turns(2 * ready.lanes.size());
    const void* const actions[] = {still.data(), turns.data()};
    REQUIRE_OK(environment->Send(ready.lanes, actions));
    if (rows >= 10 && environment->health().restarts == 0 && server != nullptr) {
      const int port = server->port();
      server->Kill();
      server = std::make_unique<PythonServer>(folder.File("second"), port);
      rows = -1'000'000;
    }
  }
  CHECK(environment->health().restarts >= 2);
}

TEST_CASE("A refusal of a server in Python is reported in its words", "[e2e]") {
  const TemporaryFolder folder;
  const PythonServer server(folder.File("log"));
  DmEnvRpcOptions options = At(server);
  options.world = R"({"level": "circle"})";
  const absl::Status refused = OpenRpcEnvironments(options, 1, false, Rng(1), StopToken()).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("wanted level: \"line\""));
  options = At(server);
  options.observations.clear();  // One has elements of type STRING.
  CHECK_FALSE(OpenRpcEnvironments(options, 1, false, Rng(1), StopToken()).ok());
}

}  // namespace
}  // namespace waggle::testing
