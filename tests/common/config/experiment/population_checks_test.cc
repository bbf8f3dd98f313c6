#include "common/config/experiment/population_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/population_options.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeAlgorithms;
using testing::ValueOf;

constexpr char kMutate[] = "{algorithm.optimizer.learning_rate: {}}";

absl::StatusOr<Experiment> Parse(const std::string& population, const std::string& more = "",
                                 const std::string& itself = "") {
  return ParseExperiment(absl::StrCat("experiment: {population: ", population, itself, "}\nalgorithm: {name: fake}\n",
                                      "stop: {max_env_steps: 10}\n", more),
                         "x.yaml", {}, FakeAlgorithms());
}

std::string Refusal(const std::string& population, const std::string& more = "", const std::string& itself = "") {
  const absl::Status status = Parse(population, more, itself).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::string Mutating(const std::string& mutate) {
  return absl::StrCat("{size: 4, every: 100, mutate: ", mutate, "}");
}

TEST_CASE("A population is read, printed and read again", "[unit]") {
  const Experiment experiment =
      ValueOf(Parse(Mutating("{algorithm.optimizer.learning_rate: {factor: 2, low: 1e-4, high: 0.1}, "
                             "algorithm.exploration.epsilon: {}}")));
  const PopulationOptions& population = experiment.experiment.population;
  CHECK(population.size == 4);
  CHECK(population.every == 100);
  REQUIRE(population.mutate.size() == 2);
  CHECK(population.mutate.at("algorithm.optimizer.learning_rate").factor == 2);
  CHECK(population.mutate.at("algorithm.optimizer.learning_rate").low == 1e-4);
  CHECK(population.mutate.at("algorithm.exploration.epsilon").factor == 1.2);
  const std::string yaml = ToYaml(experiment);
  CHECK(ToYaml(ValueOf(ParseExperiment(yaml, "y", {}, FakeAlgorithms()))) == yaml);
}

TEST_CASE("An experiment has no population unless its file asks for one", "[unit]") {
  const Experiment experiment =
      ValueOf(ParseExperiment("algorithm: {name: fake}\nstop: {max_env_steps: 10}\n", "x", {}, FakeAlgorithms()));
  CHECK_FALSE(experiment.experiment.population.is_given());
  REQUIRE_OK(CheckPopulation(experiment));
  CHECK_THAT(ToYaml(experiment), !Catch::Contains("population"));
}

TEST_CASE("A wrong population is refused with its key", "[unit]") {
  CHECK_THAT(Refusal(absl::StrCat("{size: 1, every: 100, mutate: ", kMutate, "}")),
             Catch::Contains("experiment.population.size: got the number 1;"));
  CHECK_THAT(Refusal(absl::StrCat("{size: 101, every: 100, mutate: ", kMutate, "}")),
             Catch::Contains("experiment.population.size: got the number 101;"));
  CHECK_THAT(Refusal(absl::StrCat("{every: 100, mutate: ", kMutate, "}")),
             Catch::Contains("experiment.population.size: is missing"));
  CHECK_THAT(Refusal(absl::StrCat("{size: 4, mutate: ", kMutate, "}")),
             Catch::Contains("experiment.population.every: is missing"));
  CHECK_THAT(Refusal(absl::StrCat("{size: 4, every: 0, mutate: ", kMutate, "}")),
             Catch::Contains("experiment.population.every: got the number 0;"));
  CHECK_THAT(Refusal("{size: 4, every: 100}"), Catch::Contains("experiment.population.mutate: is missing"));
  CHECK_THAT(Refusal(Mutating("{algorithm.optimizer.learning_rate: {factor: 1}}")),
             Catch::Contains("learning_rate.factor: got the number 1;"));
  CHECK_THAT(Refusal(Mutating("{algorithm.optimizer.learning_rate: {low: 0.1}}")), Catch::Contains("is given alone"));
  CHECK_THAT(Refusal(Mutating("{algorithm.optimizer.learning_rate: {low: 0.1, high: 0.01}}")),
             Catch::Contains("learning_rate.low: got 0.1; wanted less than high"));
}

TEST_CASE("Only a number that can change while the experiment runs is varied", "[unit]") {
  CHECK_THAT(Refusal(Mutating("{algorithm.n_step: {}}")),
             Catch::Contains("wanted one of algorithm.exploration.epsilon"));
  CHECK_THAT(Refusal(Mutating("{algorithm.optimizer.learning_rat: {}}")),
             Catch::Contains("did you mean \"algorithm.optimizer.learning_rate\"?"));
  const auto refusal = [](const std::string& value) {
    return std::string(ParseExperiment(absl::StrCat("experiment: {population: ", Mutating(kMutate), "}\n",
                                                    "algorithm: {name: fake, optimizer: {learning_rate: ", value,
                                                    "}}\nstop: {max_env_steps: 10}\n"),
                                       "x.yaml", {}, FakeAlgorithms())
                           .status()
                           .message());
  };
  CHECK_THAT(refusal("{from: 0.1, to: 0}"), Catch::Contains("wanted a number, which does not move"));
  CHECK_THAT(refusal("0"), Catch::Contains("is 0, which no factor changes"));
}

TEST_CASE("The range that is explored is a part of the key's own and has the file's number", "[unit]") {
  CHECK_THAT(Refusal(Mutating("{algorithm.exploration.epsilon: {low: 0.01, high: 7}}")),
             Catch::Contains("wanted a part of the key's own range"));
  CHECK_THAT(Refusal(Mutating("{algorithm.exploration.epsilon: {low: 0.2, high: 0.5}}")),
             Catch::Contains("algorithm.exploration.epsilon is 0.1; wanted a number in [0.2, 0.5]"));
}

TEST_CASE("A population needs evaluations and one learner for each member, and its runs are not deterministic",
          "[unit]") {
  const std::string right = Mutating(kMutate);
  REQUIRE_OK(Parse(right));
  CHECK_THAT(Refusal(right, "evaluation: {enabled: false}\n"), Catch::Contains("evaluation.enabled: got false"));
  CHECK_THAT(Refusal(right, "learner: {processes: 2}\n"), Catch::Contains("learner.processes: got 2"));
  CHECK_THAT(Refusal(right, "learner: {gradients: push}\n"), Catch::Contains("learner.gradients: got push"));
  CHECK_THAT(Refusal(right, "replay: {rate_limiter: {samples_per_insert: 8}}\n", ", deterministic: true"),
             Catch::Contains("experiment.deterministic: got true"));
}

}  // namespace
}  // namespace waggle
