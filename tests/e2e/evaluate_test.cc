// `waggle evaluate` on untrained networks.

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actor/environments/environment.h"
#include "common/config/experiment/experiment.h"
#include "common/replay/file/replay_file.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/checkpoint/saved_model.h"
#include "common/rl/training/learner_checkpoint.h"
#include "common/rl/training/trainee.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// CartPole with a network of this width.
Experiment CartPole(int64_t seed, const std::string& width = "8") {
  return ValueOf(LoadExperiment(
      std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml",
      {{"experiment.seed", std::to_string(seed)}, {"networks.q.torso", "[{type: mlp, units: [" + width + "]}]"}},
      BuiltinAlgorithmDefinitions()));
}

// The files of a learner at step 12 and of a hub at version 12, of one run.
class Run {
 public:
  explicit Run(const Experiment& experiment) : experiment_(experiment) {
    const EnvironmentDefinitions environments = BuiltinEnvironments();
    const EnvironmentSpec environment =
        ValueOf(ValueOf(environments.Find("CartPole-v1"))->spec(experiment_.environment));
    trainee_ = ValueOf(AlgorithmTrainee::Create(experiment_, environment, BuiltinAlgorithmDefinitions(),
                                                BuiltinAlgorithms(), torch::kCPU));
  }

  void SaveWeights(const std::string& folder) {
    SavedModel model;
    model.snapshot = ValueOf(trainee_->Publish());
    model.snapshot.version = {1, 12};
    model.experiment_yaml = ToYaml(experiment_);
    model.snapshot.progress.env_steps = 345;
    REQUIRE_OK(ValueOf(CheckpointStore::Open(folder, 1))->Save(ToCheckpoint(model)));
  }
  void SaveLearnerState(const std::string& folder, const Experiment& said) {
    CheckpointContents contents = ValueOf(SaveLearner(12, "apex_dqn", trainee_.get()));
    contents.texts[kCheckpointRun] = "cartpole-1";
    contents.texts[kCheckpointExperiment] = ToYaml(said);
    REQUIRE_OK(ValueOf(CheckpointStore::Open(folder, 1))->Save(contents));
  }
  const Experiment& experiment() const { return experiment_; }

 private:
  const Experiment experiment_;
  std::unique_ptr<AlgorithmTrainee> trainee_;
};

struct Answer {
  int status = 0;
  std::string text;
};

Answer Evaluate(const std::string& path, std::vector<std::string> flags, const std::string& verb = "evaluate") {
  const TemporaryFolder folder;
  std::vector<std::string> command = {"waggle", verb, path};
  command.insert(command.end(), flags.begin(), flags.end());
  RunningProcess process(folder, "log", std::move(command));
  const int status = process.Wait().ShellStatus();
  return {status, process.Log()};
}

nlohmann::json Result(const std::string& path, std::vector<std::string> flags, const std::string& verb = "evaluate") {
  flags.emplace_back("--json");
  const Answer answer = Evaluate(path, std::move(flags), verb);
  INFO(answer.text);
  REQUIRE(answer.status == 0);
  return nlohmann::json::parse(answer.text);
}

// The figures that two evaluations of the same episodes have in common.
std::vector<double> Figures(const nlohmann::json& result) {
  std::vector<double> figures;
  for (const char* name : {"episodes", "mean_return", "standard_error", "standard_deviation", "min_return",
                           "max_return", "mean_length", "min_length", "max_length"}) {
    figures.push_back(result.at(name).get<double>());
  }
  return figures;
}

TEST_CASE("a run's weights are evaluated, the best ones first, and equal seeds give equal results", "[e2e]") {
  const TemporaryFolder run;
  Run other(CartPole(2));
  other.SaveWeights(run.File("hub/weights/newest"));
  Run best(CartPole(1));
  best.SaveWeights(run.File("hub/weights/best"));

  const nlohmann::json one = Result(run.path(), {"--episodes", "300", "--seed", "5"});
  CHECK(one.at("path") == run.File("hub/weights/best"));
  CHECK(one.at("kind") == "best");
  CHECK(one.at("experiment") == "cartpole_apex_dqn");
  CHECK(one.at("environment") == "CartPole-v1");
  CHECK(one.at("version") == nlohmann::json({{"epoch", 1}, {"version", 12}}));
  CHECK(one.at("env_steps") == 345);
  CHECK(one.at("episodes") == 300);
  CHECK(one.at("seed") == 5);
  CHECK(one.at("mean_return").get<double>() >= 8);  // No episode of CartPole is shorter.
  CHECK(one.at("mean_return") == one.at("mean_length"));
  CHECK(Figures(Result(run.path(), {"--episodes", "300", "--seed", "5"})) == Figures(one));
  CHECK(Figures(Result(run.path(), {"--episodes", "300", "--seed", "6"})) != Figures(one));
  const nlohmann::json newest = Result(run.path(), {"--episodes", "300", "--seed", "5", "--newest"});
  CHECK(newest.at("kind") == "newest");
  CHECK(Figures(newest) != Figures(one));

  // The learner's whole state contains the same network.
  best.SaveLearnerState(run.File("checkpoints"), best.experiment());
  const nlohmann::json learner =
      Result(run.File("checkpoints/step-000000000012"), {"--episodes", "300", "--seed", "5", "--device", "cpu"});
  CHECK(learner.at("kind") == "learner_checkpoint");
  CHECK(learner.at("version").at("version") == 12);
  CHECK(Figures(learner) == Figures(one));

  const Answer text = Evaluate(run.path(), {"--episodes", "3"});
  CHECK(text.status == 0);
  CHECK_THAT(text.text, Catch::StartsWith("evaluated   " + run.File("hub/weights/best") + ", the best weights\n") &&
                            Catch::Contains("\nepisodes    3, greedy, seed "));
}

TEST_CASE("filming a run's episodes does not change them", "[e2e]") {
  const TemporaryFolder run;
  Run(CartPole(1)).SaveWeights(run.File("hub/weights/best"));
  const nlohmann::json plain = Result(run.path(), {"--episodes", "5", "--seed", "5"});
  const nlohmann::json filmed =
      Result(run.path(), {"--episodes", "5", "--seed", "5", "--video", run.File("films"), "--video-episodes", "2"});
  CHECK(Figures(filmed) == Figures(plain));
  CHECK(filmed.at("video") == run.File("films"));
  for (const char* const name : {"films/episode-0.webp", "films/episode-1.webp"}) {
    CHECK_THAT(Contents(run.File(name)), Catch::StartsWith("RIFF"));
  }
  const Answer refused = Evaluate(run.path(), {"--video", "/proc/films"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.text, Catch::Contains("--video: got /proc/films"));
}

TEST_CASE("a run's episodes become a replay file, which is never overwritten", "[e2e]") {
  const TemporaryFolder run;
  Run(CartPole(1)).SaveWeights(run.File("hub/weights/best"));
  const nlohmann::json recorded =
      Result(run.path(), {"--output", run.File("episodes"), "--episodes", "3", "--explore"}, "record");
  CHECK(recorded.at("recorded") == run.File("episodes"));
  const auto file = ValueOf(ReplayFileReader::Open(run.File("episodes")));
  double items = 0;
  while (const std::optional<InsertBlock> block = ValueOf(file->Next())) {
    items += static_cast<double>(block->items.size());
  }
  CHECK(items == Approx(3 * recorded.at("mean_length").get<double>()));
  const Answer again = Evaluate(run.path(), {"--output", run.File("episodes")}, "record");
  CHECK(again.status == 2);
  CHECK_THAT(again.text, Catch::StartsWith("waggle record: ") && Catch::Contains(run.File("episodes")));
}

TEST_CASE("an experiment's file is evaluated with random actions", "[e2e]") {
  const nlohmann::json random =
      Result(std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml", {"--episodes", "50"});
  CHECK(random.at("kind") == "random");
  CHECK(random.at("mean_return").get<double>() > 10);
  CHECK(random.at("mean_return").get<double>() < 60);
}

TEST_CASE("an evaluation that is not possible exits with 2 and one line with the reason", "[e2e]") {
  const TemporaryFolder folder;
  const auto refused = [](const std::string& path, const std::vector<std::string>& flags, const std::string& says) {
    const Answer answer = Evaluate(path, flags);
    CHECK(answer.status == 2);
    // Log lines about damage may come first.
    const size_t last = answer.text.rfind('\n', answer.text.size() - 2) + 1;
    CHECK_THAT(answer.text.substr(last), Catch::StartsWith("waggle evaluate: ") && Catch::Contains(says));
  };
  refused(folder.path(), {}, folder.path() + " is empty; wanted a run's folder");
  refused(folder.File("none"), {}, "is not there");

  Run run(CartPole(1));
  run.SaveWeights(folder.File("weights/best"));
  refused(folder.path(), {"--device", "abacus"}, "abacus");
  run.SaveLearnerState(folder.File("checkpoints"), CartPole(1, "9"));
  refused(folder.File("checkpoints"), {}, "the checkpoint has state/");
  std::fstream data(folder.File("weights/best/step-000000000012/checkpoint.safetensors"), std::ios::in | std::ios::out);
  data.seekp(-1, std::ios::end);
  data.put('\x7f');
  data.close();
  refused(folder.path(), {}, "no checkpoint is whole");
}

TEST_CASE("an evaluation whose result cannot be written fails", "[e2e]") {
  const TemporaryFolder folder;
  Run(CartPole(1)).SaveWeights(folder.path());
  ChildOptions options;
  options.command = {
      "/bin/sh", "-c",
      std::string(WAGGLE_TEST_BIN_DIR) + "/waggle evaluate " + folder.path() + " --episodes 2 --json > /dev/full"};
  options.log_path = folder.File("log");
  const auto child = ValueOf(ChildProcess::Spawn(options));
  Eventually("the end of the evaluation", [&] { return child->Poll().has_value(); });
  CHECK(child->Poll()->code == 1);
}

}  // namespace
}  // namespace waggle::testing
