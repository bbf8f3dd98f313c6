#include "cli/results/model_card.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/hub/summary/run_summary.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;
using ::waggle::testing::ValueOf;

RunSummary SolvedRun() {
  RunSummary summary;
  summary.id = "pole-x7k2q";
  summary.experiment = "pole: one";
  summary.algorithm = "apex_dqn";
  summary.environment = "CartPole-v1";
  summary.seed = 7;
  summary.outcome = "solved";
  summary.waggle_version = "1.2";
  summary.libtorch_version = "1.13.0";
  summary.machine = "an <abacus>";
  summary.env_steps = 38'000;
  summary.learner_steps = 12'345;
  summary.wall_seconds = 14.25;
  summary.result.emplace();
  summary.result->set_confirmed(true);
  v1::Evaluation* const evaluation = summary.result->mutable_evaluation();
  evaluation->set_mean_return(487.25);
  evaluation->set_standard_deviation(40);
  evaluation->set_episodes(100);
  evaluation->set_env_steps(36'000);
  return summary;
}

CardContents Contents() {
  CardContents contents;
  contents.experiment_yaml = "experiment:\n  seed: 7\n";
  return contents;
}

// The front matter, parsed.
YAML::Node FrontMatterOf(const std::string& card) {
  const size_t end = card.find("\n---\n");
  REQUIRE(card.rfind("---\n", 0) == 0);
  REQUIRE(end != std::string::npos);
  return YAML::Load(card.substr(4, end - 3));
}

TEST_CASE("A card's front matter has what hubs of models read", "[unit]") {
  const std::string card = ValueOf(ModelCard(SolvedRun().AsJson(), Contents()));
  CHECK(card.rfind(kCardBeginning, 0) == 0);
  const YAML::Node front = FrontMatterOf(card);
  CHECK(front["library_name"].as<std::string>() == "waggle");
  CHECK(front["tags"].size() == 5);
  CHECK(front["tags"][0].as<std::string>() == "CartPole-v1");
  const YAML::Node model = front["model-index"][0];
  CHECK(model["name"].as<std::string>() == "pole: one");
  const YAML::Node result = model["results"][0];
  CHECK(result["task"]["type"].as<std::string>() == "reinforcement-learning");
  CHECK(result["dataset"]["name"].as<std::string>() == "CartPole-v1");
  CHECK(result["metrics"][0]["type"].as<std::string>() == "mean_reward");
  CHECK(result["metrics"][0]["value"].as<std::string>() == "487.25 +/- 40.00");
}

TEST_CASE("A card has the result with its error, the run, the versions, the experiment and how to repeat it",
          "[unit]") {
  const std::string card = ValueOf(ModelCard(SolvedRun().AsJson(), Contents()));
  for (const char* const part :
       {"487.25, standard error 4.00, over 100 episodes", "36000 environment steps", "solved after 38000", "Waggle 1.2",
        "LibTorch 1.13.0", "an \\<abacus\\>", "| seed | 7 |", "```yaml\nexperiment:\n  seed: 7\n```",
        "waggle run experiment.yaml", "waggle evaluate ."}) {
    INFO(part);
    CHECK_THAT(card, Catch::Contains(part));
  }
}

TEST_CASE("A card speaks of curves, films and an ONNX file only if they are there", "[unit]") {
  CardContents contents = Contents();
  const std::string without = ValueOf(ModelCard(SolvedRun().AsJson(), contents));
  contents.has_curves = true;
  contents.has_policy = true;
  contents.films = {"films/episode-0.webp"};
  const std::string with = ValueOf(ModelCard(SolvedRun().AsJson(), contents));
  for (const char* const file : {"(curves.png)", "policy.onnx", "(films/episode-0.webp)"}) {
    INFO(file);
    CHECK_THAT(without, !Catch::Contains(file));
    CHECK_THAT(with, Catch::Contains(file));
  }
}

TEST_CASE("An experiment with a fence in it does not end the card's block", "[unit]") {
  CardContents contents = Contents();
  contents.experiment_yaml = "x: |\n  ```\n";
  CHECK_THAT(ValueOf(ModelCard(SolvedRun().AsJson(), contents)), Catch::Contains("````yaml\nx: |\n  ```\n````\n"));
}

TEST_CASE("A summary without a result, or of another form, is refused by the key", "[unit]") {
  RunSummary unfinished = SolvedRun();
  unfinished.result.reset();
  CHECK(absl::IsFailedPrecondition(ModelCard(unfinished.AsJson(), Contents()).status()));
  CHECK(absl::IsInvalidArgument(ModelCard(Json::array(), Contents()).status()));
  Json wrong = SolvedRun().AsJson();
  wrong["seed"] = "seven";
  CHECK_THAT(std::string(ModelCard(wrong, Contents()).status().message()), Catch::StartsWith("seed: got \"seven\""));
  wrong.erase("seed");
  CHECK_THAT(std::string(ModelCard(wrong, Contents()).status().message()), Catch::StartsWith("seed: got nothing"));
}

}  // namespace
}  // namespace waggle
