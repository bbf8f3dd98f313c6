// Runs every file of configs/ as its first lines say; its target must be reached. Each run prints a line for the tables
// of docs/algorithms. Runs are kept in the folder that WAGGLE_LEARN_RUNS names, if it is set.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

struct Learned {
  bool solved = false;
  int64_t env_steps = 0;  // Those at which the weights that reached it were published.
  double seconds = 0;
  double mean_return = 0;  // The second evaluation's, if there was one; else the best.
  std::string log;
};

// Experiments of ten minutes or more per run, or of environments that ./dev setup does not install. They are trained
// only if WAGGLE_LEARN names them, with the python3 of the PATH, within their own limits.
const std::set<std::string>& LongExperiments() {
  static const auto* const all = new std::set<std::string>{
      "half_cheetah_crossq", "half_cheetah_mpo",    "half_cheetah_sac",     "half_cheetah_td3",
      "half_cheetah_tqc",    "lunar_lander_qr_dqn", "lunar_lander_rainbow", "mpe_spread_ippo"};
  return *all;
}

std::string ConfigPath(const std::string& name) {
  return std::string(WAGGLE_TEST_CONFIG_DIR) + "/" + name + ".yaml";
}

// Recordings that experiments learn from, made once: the commands in a file's first lines before its own `waggle run`.
class Recordings {
 public:
  // Makes those of an experiment. Returns the setting that names its file; empty if it learns from none.
  std::string Prepare(const std::string& name) {
    std::ifstream file(ConfigPath(name));
    const std::string start = "#   waggle ";
    for (std::string line; std::getline(file, line);) {
      const bool is_own = absl::StrContains(line, absl::StrCat("run configs/", name, ".yaml"));
      if (absl::StartsWith(line, start) && !is_own && made_.insert(line).second) {
        Run(line.substr(start.size()));
      }
      if (const size_t key = line.find("import: "); key != std::string::npos && line[0] != '#') {
        const std::string path = line.substr(key + 8, line.find_first_of(",}", key) - key - 8);
        return absl::StrCat("replay.import=", absl::StrReplaceAll(path, {{"runs/", folder_.path() + "/"}}));
      }
    }
    return "";
  }

 private:
  void Run(const std::string& arguments) {
    const std::string paths = absl::StrReplaceAll(
        arguments, {{"configs/", std::string(WAGGLE_TEST_CONFIG_DIR) + "/"}, {"runs/", folder_.path() + "/"}});
    std::vector<std::string> command = absl::StrSplit(paths, ' ', absl::SkipEmpty());
    command.insert(command.begin(), "waggle");
    RunningProcess process(folder_, absl::StrCat("log-", made_.size()), command);
    const ChildExit end = process.Wait();
    INFO(paths << "\n" << process.Log());
    REQUIRE(end.ok());
  }

  const TemporaryFolder folder_;
  std::set<std::string> made_;
};

// Experiments without a target, and the least last value of a metric with which they have learned.
struct Measure {
  std::string metric;
  double least;
};
const std::map<std::string, Measure>& MeasuredExperiments() {
  // Three times as good as chance.
  static const auto* const all =
      new std::map<std::string, Measure>{{"point_mass_sac_diayn", {"algorithm/diayn_accuracy", 3.0 / 8}}};
  return *all;
}

// The last value in a run's metrics.csv.
double LastValue(const std::string& metrics, const std::string& name) {
  double last = 0;
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    if (cells.size() == 4 && cells[2] == name) {
      REQUIRE(absl::SimpleAtod(cells[3], &last));
    }
  }
  return last;
}

Learned Learn(const std::string& name, int64_t seed, const std::vector<std::string>& settings = {}) {
  const TemporaryFolder folder;
  const char* const kept = std::getenv("WAGGLE_LEARN_RUNS");
  const bool keeps = kept != nullptr && settings.empty();
  const std::string output = keeps ? absl::StrCat(kept, "/", name, "-", seed) : folder.File("out");
  // The shipped limit on seconds assumes an idle machine.
  std::vector<std::string> command = {"waggle", "run",    ConfigPath(name),     "--output-dir",
                                      output,   "--seed", std::to_string(seed), "--no-plot"};
  if (LongExperiments().count(name) == 0) {
    command.insert(command.end(), {"--set", "stop.max_seconds=280"});
  }
  static auto* const recordings = new Recordings;
  if (const std::string recorded = recordings->Prepare(name); !recorded.empty()) {
    command.insert(command.end(), {"--set", recorded});
  }
  for (const std::string& setting : settings) {
    command.insert(command.end(), {"--set", setting});
  }
  RunningProcess run(folder, "log", std::move(command));
  run.Wait();
  Learned learned;
  learned.log = run.Log();
  INFO(learned.log);
  REQUIRE(std::filesystem::exists(output + "/summary.json"));
  const nlohmann::json summary = nlohmann::json::parse(Contents(output + "/summary.json"));
  learned.solved = summary.at("outcome") == "solved";
  if (const auto measured = MeasuredExperiments().find(name); measured != MeasuredExperiments().end()) {
    const auto& [metric, least] = measured->second;
    const double value = LastValue(Contents(output + "/metrics.csv"), metric);
    std::cout << metric << " " << value << "\n";
    learned.solved = value >= least;
  }
  learned.seconds = summary.at("wall_seconds").get<double>();
  if (const nlohmann::json& result = summary.at("result"); !result.is_null()) {
    learned.env_steps = result.at("env_steps").get<int64_t>();
    learned.mean_return = result.at("mean_return").get<double>();
  }
  std::cout << absl::StrFormat("| %s, seed %d | %s | %d | %.1f | %.1f |\n", name, seed,
                               learned.solved ? "solved" : "not solved", learned.env_steps, learned.mean_return,
                               learned.seconds)
            << std::flush;
  return learned;
}

// The shipped experiments except long ones and populations, which `waggle run` refuses, or the experiment that
// WAGGLE_LEARN names.
std::vector<std::string> Names() {
  const char* const only = std::getenv("WAGGLE_LEARN");
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(WAGGLE_TEST_CONFIG_DIR)) {
    const std::string name = file.path().stem().string();
    const bool asked_for = only == nullptr || *only == '\0' ? LongExperiments().count(name) == 0 : name == only;
    if (file.path().extension() == ".yaml" && asked_for && !absl::EndsWith(name, "_population")) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("every shipped experiment reaches its target with three seeds", "[learning]") {
  REQUIRE_FALSE(Names().empty());
  for (const std::string& name : Names()) {
    for (const int64_t seed : {1, 2, 3}) {
      DYNAMIC_SECTION(name << ", seed " << seed) {
        const Learned learned = Learn(name, seed);
        INFO(learned.log);
        CHECK(learned.solved);
      }
    }
  }
}

TEST_CASE("the shortest shipped experiment reaches its target", "[e2e]") {
  const Learned learned = Learn("cartpole_a2c", 1);
  INFO(learned.log);
  CHECK(learned.solved);
}

// Trains an experiment, if it was requested, with settings with which it must not reach its target.
void CheckMisses(const std::string& name, const std::vector<std::string>& settings) {
  const std::vector<std::string> names = Names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return;
  }
  for (const int64_t seed : {1, 2, 3}) {
    DYNAMIC_SECTION(name << ", seed " << seed) {
      const Learned learned = Learn(name, seed, settings);
      INFO(learned.log);
      CHECK_FALSE(learned.solved);
    }
  }
}

TEST_CASE("without a memory a policy that needs one stays below the target", "[learning]") {
  const auto without_core = [](const std::string& network) { return "networks." + network + ".core={type: none}"; };
  CheckMisses("cartpole_hidden_velocity_ppo_lstm",
              {without_core("actor_critic"), "stop.target_return=200", "stop.max_env_steps=200000"});
  // Without the cue half of the answers are right, which is worth 0.
  CheckMisses("memory_cue_r2d2", {without_core("q"), "stop.target_return=0.6", "stop.max_env_steps=100000"});
  CheckMisses("memory_cue_impala_lstm",
              {without_core("actor_critic"), "stop.target_return=0.6", "stop.max_env_steps=500000"});
}

TEST_CASE("without its module an experiment that needs one stays below the target", "[learning]") {
  CheckMisses("deep_sea_ppo_rnd", {"algorithm.modules=[]", "networks={actor_critic: {torso: []}}"});
  CheckMisses("bit_flip_apex_dqn_her", {"algorithm.modules=[]"});
}

}  // namespace
}  // namespace waggle::testing
