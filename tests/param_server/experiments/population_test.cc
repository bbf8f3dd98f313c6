#include "param_server/experiments/population.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr char kRate[] = "algorithm.optimizer.learning_rate";

// Members "0", "1" and so on, with these returns.
std::vector<PopulationMember> Members(const std::vector<double>& returns, bool due = true) {
  std::vector<PopulationMember> members;
  for (const double mean_return : returns) {
    members.push_back({absl::StrCat(members.size()), mean_return, due});
  }
  return members;
}

Experiment PopulationOf(const std::string& mutate, const std::string& optimizer = "{}", int64_t seed = 7) {
  const std::string yaml =
      absl::StrCat("experiment: {seed: ", seed, ", population: {size: 5, every: 10, mutate: ", mutate,
                   "}}\nalgorithm: {name: ppo, optimizer: ", optimizer, "}\nstop: {max_env_steps: 10}\n");
  return ValueOf(ParseExperiment(yaml, "x", {}, BuiltinAlgorithmDefinitions()));
}

double NumberIn(const PopulationNumbers& numbers, const std::string& key) {
  for (const auto& [known, text] : numbers) {
    double value = 0;
    if (known == key && absl::SimpleAtod(text, &value)) {
      return value;
    }
  }
  FAIL("there is no number " << key);
  return 0;
}

double RateOf(const Experiment& experiment) {
  LiveFields fields;
  VisitExperiment(experiment, fields);
  return fields.numbers().at(kRate).value;
}

TEST_CASE("The worst of a few members takes from the best", "[unit]") {
  Rng rng(1);
  const std::vector<Exploitation> chosen = ChooseExploitations(Members({5, -3, 9, 4}), &rng);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].loser == "1");
  CHECK(chosen[0].winner == "2");
}

TEST_CASE("The worst fifth of many members takes from members drawn from the best fifth", "[unit]") {
  std::vector<double> returns;
  for (int i = 0; i < 14; ++i) {
    returns.push_back(i);
  }
  Rng rng(1);
  std::map<std::string, std::set<std::string>> winners;
  for (int i = 0; i < 100; ++i) {
    for (const Exploitation& one : ChooseExploitations(Members(returns), &rng)) {
      winners[one.loser].insert(one.winner);
    }
  }
  const std::set<std::string> best = {"12", "13"};
  CHECK(winners == std::map<std::string, std::set<std::string>>{{"0", best}, {"1", best}});
}

TEST_CASE("Members that are not due, equal members and a lone member take nothing", "[unit]") {
  Rng rng(1);
  CHECK(ChooseExploitations(Members({5, -3, 9}, /*due=*/false), &rng).empty());
  CHECK(ChooseExploitations(Members({9, 9, 9}), &rng).empty());
  CHECK(ChooseExploitations(Members({9}), &rng).empty());
  CHECK(ChooseExploitations({}, &rng).empty());
  std::vector<PopulationMember> members = Members({1, 2, 3}, /*due=*/false);
  members[1].is_due = true;  // It is not the worst.
  CHECK(ChooseExploitations(members, &rng).empty());
}

TEST_CASE("Numbers are multiplied or divided by their factor", "[unit]") {
  const Experiment experiment = PopulationOf(
      absl::StrCat("{", kRate, ": {factor: 2}, algorithm.epochs: {factor: 1.5}}"), "{learning_rate: 0.01}");
  LiveFields fields;
  VisitExperiment(experiment, fields);
  const double epochs = fields.numbers().at("algorithm.epochs").value;
  Rng rng(1);
  std::set<double> rates;
  std::set<double> passes;
  for (int i = 0; i < 50; ++i) {
    const PopulationNumbers numbers = Explore(experiment, &rng);
    REQUIRE(numbers.size() == 2);
    rates.insert(NumberIn(numbers, kRate));
    passes.insert(NumberIn(numbers, "algorithm.epochs"));
  }
  CHECK(rates == std::set<double>{0.005, 0.02});
  CHECK(passes == std::set<double>{std::round(epochs / 1.5), std::round(epochs * 1.5)});
}

TEST_CASE("A number that explores stays within its range", "[unit]") {
  const Experiment narrow =
      PopulationOf(absl::StrCat("{", kRate, ": {factor: 10, low: 0.005, high: 0.02}}"), "{learning_rate: 0.01}");
  const Experiment own = PopulationOf("{algorithm.lambda: {factor: 100}}");
  Rng rng(1);
  std::set<double> rates;
  for (int i = 0; i < 50; ++i) {
    rates.insert(NumberIn(Explore(narrow, &rng), kRate));
    CHECK(NumberIn(Explore(own, &rng), "algorithm.lambda") <= 1);
  }
  CHECK(rates == std::set<double>{0.005, 0.02});
}

TEST_CASE("A schedule that was set in place of a number is left alone", "[unit]") {
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const std::string yaml = ToYaml(PopulationOf(absl::StrCat("{", kRate, ": {}, algorithm.clip: {}}")));
  Experiment experiment = ValueOf(ParseExperiment(yaml, "x", {}, algorithms));
  const auto with_schedule = ParseExperiment(
      "algorithm: {name: ppo, optimizer: {learning_rate: {from: 0.1, to: 0}}}\n"
      "stop: {max_env_steps: 10}\n",
      "x", {}, algorithms);
  experiment.algorithm_options = ValueOf(with_schedule).algorithm_options;
  Rng rng(1);
  const PopulationNumbers numbers = Explore(experiment, &rng);
  REQUIRE(numbers.size() == 1);
  CHECK(numbers[0].first == "algorithm.clip");
}

TEST_CASE("Members have seeds of their own, and all but the first begin with other numbers", "[unit]") {
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const Experiment experiment = PopulationOf(absl::StrCat("{", kRate, ": {factor: 2}}"), "{learning_rate: 0.01}");
  const std::vector<Experiment> members = ValueOf(MakeMembers(experiment, algorithms));
  REQUIRE(members.size() == 5);
  CHECK(ToYaml(members[0]) == ToYaml(experiment));
  for (size_t i = 0; i < members.size(); ++i) {
    CHECK(members[i].experiment.seed == 7 + static_cast<int64_t>(i));
    CHECK(members[i].experiment.population.size == 5);
    const double rate = RateOf(members[i]);
    CHECK((i == 0 ? rate == 0.01 : rate == 0.005 || rate == 0.02));
    CHECK(ToYaml(ValueOf(MakeMembers(experiment, algorithms))[i]) == ToYaml(members[i]));  // It follows from the seed.
  }
}

TEST_CASE("Members begin with numbers from the range that the population explores", "[unit]") {
  const Experiment experiment =
      PopulationOf(absl::StrCat("{", kRate, ": {low: 1e-5, high: 0.1}}"), "{learning_rate: 0.01}");
  std::set<double> rates;
  for (const Experiment& member : ValueOf(MakeMembers(experiment, BuiltinAlgorithmDefinitions()))) {
    rates.insert(RateOf(member));
    CHECK(RateOf(member) >= 1e-5);
    CHECK(RateOf(member) <= 0.1);
  }
  CHECK(rates.size() == 5);
}

TEST_CASE("A seed that leaves no room for the members' is refused", "[unit]") {
  const Experiment experiment = PopulationOf(absl::StrCat("{", kRate, ": {}}"), "{}", INT64_MAX - 1);
  REQUIRE_CODE(MakeMembers(experiment, BuiltinAlgorithmDefinitions()).status(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
