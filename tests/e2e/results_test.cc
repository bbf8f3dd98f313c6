// Results of experiments, fetched from a hub and used.

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

std::string Config(const std::string& name) {
  return std::string(WAGGLE_TEST_CONFIG_DIR) + "/" + name + ".yaml";
}

TEST_CASE("an experiment's results are fetched from its hub, evaluated, compared and put on a card", "[e2e]") {
  Service service;
  service.StartHub();
  service.StartReplay("replay");
  service.StartLearner("learner");
  service.StartActor("actor");
  service.StartEvaluator("evaluator");
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  const std::string id = service.SubmitFile(Config("cartpole_ppo"));

  // While it runs, what there is.
  const std::string early = service.File("early");
  Eventually("files of the running experiment", [&] {
    return service.Waggle({"fetch", id, early}).first == 0 && !Contents(early + "/experiment.yaml").empty();
  });

  service.AwaitOutcome(id, "solved");
  CHECK(service.Waggle({"watch", id}).first == 0);  // Until it is closed.
  const std::string copy = service.File("copy");
  const auto [fetched, told] = service.Waggle({"fetch", id, copy, "--json"});
  INFO(told);
  REQUIRE(fetched == 0);
  const std::string output = service.File("out/" + id);
  for (const char* const name : {"summary.json", "experiment.yaml", "metrics.csv"}) {
    INFO(name);
    CHECK(Contents(copy + "/" + name) == Contents(output + "/" + name));
    CHECK_FALSE(Contents(copy + "/" + name).empty());
  }
  CHECK_THAT(Contents(copy + "/events.jsonl"), Catch::Contains("begins"));
  const double result =
      nlohmann::json::parse(Contents(copy + "/summary.json")).at("result").at("mean_return").get<double>();

  // The best weights act, from the copy and from the hub.
  const TemporaryFolder folder;
  RunningProcess local(folder, "log", {"waggle", "evaluate", copy, "--episodes", "20", "--seed", "3", "--json"});
  REQUIRE(local.Wait().ok());
  const auto [evaluated, evaluation] = service.Waggle({"evaluate", id, "--episodes", "20", "--seed", "3", "--json"});
  INFO(evaluation);
  REQUIRE(evaluated == 0);
  CHECK(nlohmann::json::parse(evaluation).at("mean_return") == nlohmann::json::parse(local.Log()).at("mean_return"));

  const std::string card = service.File("card");
  const auto [carded, said] = service.Waggle({"card", id, "--out", card, "--video"});
  INFO(said);
  REQUIRE(carded == 0);
  CHECK_THAT(Contents(card + "/README.md"), Catch::Contains("CartPole-v1") && Catch::Contains("films/episode-0.webp"));
  CHECK(std::filesystem::exists(card + "/films/episode-0.webp"));
  CHECK(std::filesystem::file_size(card + "/policy.onnx") > 0);
  CHECK(service.Waggle({"export", id, service.File("policy.onnx")}).first == 0);
  CHECK(std::filesystem::file_size(service.File("policy.onnx")) > 0);
  RunningProcess from_card(folder, "log2", {"waggle", "evaluate", card, "--episodes", "2", "--json"});
  CHECK(from_card.Wait().ok());

  const auto [compared, table] = service.Waggle({"compare", id, copy, "--json"});
  INFO(table);
  if (compared != 3) {  // There is numpy.
    REQUIRE(compared == 0);
    CHECK(nlohmann::json::parse(table).at("settings").at(0).at("result").at("iqm").get<double>() == Approx(result));
  }
  CHECK(service.Waggle({"fetch", "no-such-id", service.File("x")}).first == 2);
  CHECK(service.Waggle({"evaluate", "no-such-id"}).first == 2);
  CHECK(service.Waggle({"fetch", id, output}).first == 2);  // It is no copy.
  service.EndAll();
}

}  // namespace
}  // namespace waggle::testing
