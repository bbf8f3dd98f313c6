// IMPALA as users run it: `waggle run` with all processes, on this machine. Frames of a null environment go through the
// whole loop, with a network that ignores them, beside the rate of loopback TCP in the same run. Also CartPole's steps
// that were learned from.

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "nlohmann/json.hpp"
#include "tests/bench/bench.h"
#include "tests/bench/loopback_tcp.h"

namespace waggle::bench {
namespace {

constexpr int64_t kFrameBytes = 4 * 84 * 84;

constexpr char kNull[] = R"(
experiment: {name: null_impala}
environment:
  name: Null-v1
  spec:
    observations:
      - {name: observation/camera, kind: box, shape: [4, 84, 84], dtype: uint8, low: 0, high: 255}
      - {name: observation/small, kind: box, shape: [1], dtype: float32}
    actions: [{name: action, kind: discrete, num_values: [6]}]
    rewards: [{name: reward, shape: []}]
algorithm: {name: impala, unroll: 20}
networks:
  actor_critic:
    encoders: {camera: [{type: ignore}]}
    torso: [{type: mlp, units: [1]}]
    heads: {value: {shares: all}}
actor: {lanes: 32}
replay: {max_items: 64}
learner: {batch_size: 32}
evaluation: {enabled: false}
stop: {max_seconds: 8}
)";

constexpr char kCartPole[] = R"(
experiment: {name: cartpole_impala}
environment: {name: CartPole-v1}
algorithm: {name: impala, unroll: 32}
actor: {lanes: 64, processes: 2}
replay: {max_items: 256}
learner: {batch_size: 64}
evaluation: {enabled: false}
stop: {max_seconds: 8}
)";

// Runs an experiment with the executables beside this one, and returns its summary.
nlohmann::json Run(const std::string& experiment) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "waggle";
  std::string folder = (std::filesystem::temp_directory_path() / "waggle-bench-XXXXXX").string();
  WAGGLE_CHECK(mkdtemp(folder.data()) != nullptr, "a temporary folder can be made");
  std::ofstream(folder + "/experiment.yaml") << experiment;
  const std::string command =
      absl::StrCat(program.string(), " run ", folder, "/experiment.yaml --no-plot --output-dir ", folder, "/out >",
                   folder, "/log 2>&1");
  const int status = std::system(command.c_str());
  nlohmann::json summary;
  std::ifstream(folder + "/out/summary.json") >> summary;
  // A run that ends at a limit may not have reached its target: 0 or 1.
  WAGGLE_CHECK(WIFEXITED(status) && summary.value("outcome", "") == "limit", "the run came to its limit");
  std::filesystem::remove_all(folder);
  return summary;
}

double ItemsLearned(const nlohmann::json& summary) {
  return summary.at("rates").at("items_sampled_per_s").get<double>();
}

// Each byte of a frame counts once, although it goes to the replay server and from there to the learner.
Result NullFrames() {
  LoopbackTcp tcp(size_t{8} << 20);
  const auto transfer = [&tcp] { tcp.Transfer(); };
  const double before = absl::ToDoubleSeconds(TimePerCall(transfer).median);
  const double bytes = ItemsLearned(Run(kNull)) * 20 * static_cast<double>(kFrameBytes);
  const double after = absl::ToDoubleSeconds(TimePerCall(transfer).median);
  return {bytes, bytes, "bytes/s", static_cast<double>(size_t{8} << 20) / ((before + after) / 2), "loopback TCP"};
}

Result CartPoleSteps() {
  const double steps = ItemsLearned(Run(kCartPole)) * 32;
  return {steps, steps, "steps/s", 200'000, "the aim, with two actors on two cores"};
}

// Pages that processes share count in each of them.
Result CartPoleMemory() {
  double mebibytes = 0;
  const nlohmann::json summary = Run(kCartPole);
  for (const auto& process : summary.at("processes")) {
    mebibytes += process.at("peak_rss_mib").get<double>();
  }
  return {mebibytes, mebibytes, "MiB of all processes, at most", 1'000, "the aim", /*less_is_better=*/true};
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  using namespace waggle::bench;  // NOLINT(google-build-using-namespace)
  return RunCases(argc, argv,
                  {{"impala/null_84x84x4", NullFrames},
                   {"impala/cartpole_2_actors", CartPoleSteps},
                   {"impala/cartpole_2_actors_memory", CartPoleMemory}});
}
