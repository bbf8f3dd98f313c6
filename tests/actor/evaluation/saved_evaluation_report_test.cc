#include "actor/evaluation/saved_evaluation_report.h"

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace waggle {
namespace {

SavedEvaluation Example() {
  SavedEvaluation evaluation;
  evaluation.kind = SavedKind::kBest;
  evaluation.folder = "runs/x/hub/weights/best";
  evaluation.experiment = "cartpole";
  evaluation.algorithm = "apex_dqn";
  evaluation.environment = "CartPole-v1";
  evaluation.epoch = 1;
  evaluation.version = 8650;
  evaluation.env_steps = 43'672;
  evaluation.seed = 9;
  evaluation.returns = {4, 490, 12, 472, 500};
  evaluation.lengths = {4, 490.5, 12, 472, 500};
  evaluation.seconds = 0.25;
  return evaluation;
}

TEST_CASE("The report of an evaluation has a few aligned lines", "[unit]") {
  CHECK(SavedEvaluationText(Example()) ==
        "evaluated   runs/x/hub/weights/best, the best weights\n"
        "experiment  cartpole: apex_dqn on CartPole-v1\n"
        "version     learner step 8650, 43672 environment steps\n"
        "episodes    4, greedy, seed 9, in 0.25 s\n"
        "return      490 ± 6, the mean and its standard error\n"
        "spread      standard deviation 12, from 472 to 500\n"
        "length      490.5 steps on average, from 472 to 500\n");
}

TEST_CASE("An evaluation as JSON has every figure", "[unit]") {
  const nlohmann::json json = nlohmann::json::parse(SavedEvaluationJson(Example()));
  CHECK(json == nlohmann::json::parse(R"({
    "path": "runs/x/hub/weights/best", "kind": "best", "experiment": "cartpole", "algorithm": "apex_dqn",
    "environment": "CartPole-v1", "version": {"epoch": 1, "version": 8650}, "env_steps": 43672, "episodes": 4,
    "seed": 9, "mean_return": 490.0, "standard_error": 6.0, "standard_deviation": 12.0, "min_return": 472.0,
    "max_return": 500.0, "mean_length": 490.5, "min_length": 472, "max_length": 500, "seconds": 0.25, "recorded": null, "video": null})"));
}

TEST_CASE("The report has the folder of the films", "[unit]") {
  SavedEvaluation evaluation = Example();
  evaluation.video = "films";
  CHECK_THAT(SavedEvaluationText(evaluation), Catch::EndsWith("\nvideo       films\n"));
  CHECK(nlohmann::json::parse(SavedEvaluationJson(evaluation)).at("video") == "films");
}

TEST_CASE("The report of random actions names them, and has no version", "[unit]") {
  SavedEvaluation evaluation = Example();
  evaluation.kind = SavedKind::kRandom;
  evaluation.folder = "x.yaml";
  evaluation.version.reset();
  evaluation.recorded = "a file";
  const std::string text = SavedEvaluationText(evaluation);
  CHECK_THAT(text, Catch::StartsWith("evaluated   x.yaml, random actions\n") && Catch::Contains(", random, seed 9") &&
                       !Catch::Contains("version") && Catch::EndsWith("\nrecorded    a file\n"));
  CHECK(nlohmann::json::parse(SavedEvaluationJson(evaluation)).at("version").at("version").is_null());
  evaluation.kind = SavedKind::kBest;
  evaluation.explored = true;
  CHECK_THAT(SavedEvaluationText(evaluation), Catch::Contains("4, exploring, seed 9"));
}

TEST_CASE("Unknown values are left out of the text, and null in JSON", "[unit]") {
  SavedEvaluation evaluation = Example();
  evaluation.kind = SavedKind::kLearner;
  evaluation.epoch.reset();
  evaluation.env_steps.reset();
  evaluation.returns = {1, 17, 0, 17, 17};
  const std::string text = SavedEvaluationText(evaluation);
  CHECK_THAT(text, Catch::Contains("a learner's checkpoint\n") && Catch::Contains("learner step 8650\n") &&
                       Catch::Contains("return      17\n") && !Catch::Contains("spread"));
  const nlohmann::json json = nlohmann::json::parse(SavedEvaluationJson(evaluation));
  CHECK(json.at("kind") == "learner_checkpoint");
  CHECK(json.at("version").at("epoch").is_null());
  CHECK(json.at("env_steps").is_null());
  CHECK(json.at("mean_return") == 17);
  CHECK(json.at("standard_error").is_null());
  CHECK(json.at("standard_deviation").is_null());
}

}  // namespace
}  // namespace waggle
