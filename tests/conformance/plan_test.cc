// An algorithm's plan: its columns, networks and scalars must exist and be used.

#include <set>

#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

bool Has(const std::vector<ArraySpec>& columns, const ArraySpec& wanted) {
  return std::find(columns.begin(), columns.end(), wanted) != columns.end();
}

TEST_CASE("every column of a plan's tables is the environment's or the policy's, and is in a view", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()));
    const std::vector<ArraySpec> columns =
        StreamColumns(SpecOf(subject.kind), NewPolicy(subject, experiment, 1)->columns());
    REQUIRE_FALSE(plan.algorithm.tables.empty());
    for (const TablePlan& table : plan.algorithm.tables) {
      REQUIRE_OK(table.table.Validate());
      for (const ArraySpec& column : table.table.signature) {
        INFO(column.DebugString());
        CHECK(Has(columns, column));
      }
      for (const ViewField& field : table.table.view) {
        INFO(field.name);
        const std::vector<ArraySpec>& signature = table.table.signature;
        CHECK(std::any_of(signature.begin(), signature.end(),
                          [&](const ArraySpec& column) { return column.name == field.column; }));
      }
    }
  });
}

TEST_CASE("one network of a plan acts, or several by its own policy, names are unique, and every head has outputs",
          "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    REQUIRE_OK(CheckAgainstEnvironment(experiment, SpecOf(subject.kind), Definitions()));
    const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()));
    std::set<std::string> names;
    int acting = 0;
    for (size_t i = 0; i < plan.networks.size(); ++i) {
      acting += plan.algorithm.networks[i].acts ? 1 : 0;
      CHECK(names.insert(plan.networks[i].name).second);
      CHECK_FALSE(plan.networks[i].heads.empty());
      for (const HeadPlan& head : plan.networks[i].heads) {
        CHECK(head.outputs > 0);
      }
    }
    CHECK(acting >= 1);
    CHECK((acting == 1 || plan.algorithm.own_policy));
    CHECK((!plan.algorithm.own_policy || ValueOf(Implementations().Find(experiment.algorithm))->new_policy != nullptr));
    for (const ScalarNeed& scalar : plan.algorithm.scalars) {
      CHECK(names.insert(scalar.name).second);
    }
  });
}

TEST_CASE("every network and scalar that a plan learns changes within eight updates, and no other network", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    const AlgorithmPlan& plan = trainee->plan().algorithm;
    std::vector<torch::Tensor> before;
    for (const ParameterGroup* const group : trainee->groups()) {
      before.push_back(group->values().clone());
    }
    std::map<std::string, torch::Tensor> frozen;
    for (const NetworkNeed& need : plan.networks) {
      if (!need.learns) {
        frozen[need.name] = trainee->model().net(need.name).network().parameters().values().clone();
      }
    }
    LocalStepper stepper;
    int64_t steps = 0;
    for (const TensorBatch& batch : PlayedBatches(subject, experiment, 8)) {
      REQUIRE_OK(trainee->Update(batch, {0, ++steps, steps}, &stepper));
    }
    for (const auto& [name, values] : frozen) {
      INFO(name);
      CHECK(torch::equal(trainee->model().net(name).network().parameters().values(), values));
    }
    const std::vector<ParameterGroup*> groups = trainee->groups();
    for (size_t i = 0; i < groups.size(); ++i) {
      INFO(groups[i]->name());
      CHECK_FALSE(torch::equal(groups[i]->values(), before[i]));
    }
  });
}

}  // namespace
}  // namespace waggle::testing
