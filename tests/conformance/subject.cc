#include "tests/conformance/subject.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/conformance/fields.h"

namespace waggle::testing {
namespace {

// The networks of the plan for this kind. Which they are may depend on it.
std::vector<std::string> NetworkNames(const Subject& subject, const Experiment& experiment) {
  const AlgorithmDefinition& definition = *ValueOf(Definitions().Find(subject.algorithm));
  const EnvironmentSpec environment = SpecOf(subject.kind);
  const AlgorithmPlan plan = ValueOf(
      definition.plan(*experiment.algorithm_options, PlanContext{environment, experiment.replay, experiment.learner}));
  std::vector<std::string> names;
  for (const NetworkNeed& need : plan.networks) {
    names.push_back(need.name);
  }
  return names;
}

Experiment WithUnits(const Subject& subject, int64_t units, Overrides overrides) {
  const Experiment defaults = ValueOf(Parse(subject.algorithm, overrides));
  for (const std::string& name : NetworkNames(subject, defaults)) {
    overrides.insert(overrides.begin(), {absl::StrCat("networks.", name, ".torso"),
                                         absl::StrCat("[{type: mlp, units: [", units, "], activation: tanh}]")});
    if (subject.kind == TinyKind::kImage) {
      overrides.emplace_back(absl::StrCat("networks.", name, ".encoders"), "{camera: [{type: flatten}]}");
    }
  }
  Experiment experiment = ValueOf(Parse(subject.algorithm, overrides));
  // A default may describe a network that the plan for another kind of action has.
  const std::vector<std::string> names = NetworkNames(subject, experiment);
  for (auto network = experiment.networks.begin(); network != experiment.networks.end();) {
    const bool known = std::find(names.begin(), names.end(), network->first) != names.end();
    network = known ? std::next(network) : experiment.networks.erase(network);
  }
  return experiment;
}

}  // namespace

const AlgorithmDefinitions& Definitions() {
  static const auto* const definitions = new AlgorithmDefinitions(BuiltinAlgorithmDefinitions());
  return *definitions;
}

const AlgorithmImplementations& Implementations() {
  static const auto* const implementations = new AlgorithmImplementations(BuiltinAlgorithms());
  return *implementations;
}

bool Claims(const AlgorithmDefinition& definition, TinyKind kind) {
  const EnvironmentSpec environment = SpecOf(kind);
  const std::vector<SpaceKind>& kinds = definition.action_kinds;
  return AgentsOf(environment).size() == 1 &&
         std::find(kinds.begin(), kinds.end(), environment.actions[0].kind) != kinds.end();
}

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  for (const std::string& algorithm : Definitions().Names()) {
    for (const TinyKind kind : TinyKinds()) {
      if (Claims(*ValueOf(Definitions().Find(algorithm)), kind)) {
        subjects.push_back({algorithm, kind});
      }
    }
  }
  return subjects;
}

EnvironmentSpec SpecOf(TinyKind kind) {
  return TinyEnvironment(kind, /*is_long=*/true, 0).spec();
}

absl::StatusOr<Experiment> Parse(const std::string& algorithm, const Overrides& overrides) {
  return ParseExperiment(absl::StrCat("algorithm: {name: ", algorithm, "}\nstop: {max_seconds: 1}\n"), "test.yaml",
                         overrides, Definitions());
}

Experiment SmallExperiment(const Subject& subject, const Overrides& overrides) {
  Overrides all = {{"learner.batch_size", "32"}, {"actor.lanes", "32"}};
  // Where a batch is divided, rows in another order make other parts.
  FieldWalk walk;
  ValueOf(Definitions().Find(subject.algorithm))->new_options()->Visit(walk);
  if (walk.numbers.count("minibatches") > 0) {
    all.emplace_back("algorithm.minibatches", "1");
  }
  all.insert(all.end(), overrides.begin(), overrides.end());
  Experiment experiment = WithUnits(subject, 8, std::move(all));
  RemoveLimit(&experiment);
  return experiment;
}

void RemoveLimit(Experiment* experiment) {
  TableConfig& table = experiment->replay.table;
  if (table.max_times_sampled == 0) {
    table.rate_limiter = RateLimiterConfig();
  }
}

Experiment LearningExperiment(const Subject& subject) {
  return WithUnits(subject, 32, {});
}

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Subject& subject, const Experiment& experiment) {
  return ValueOf(
      AlgorithmTrainee::Create(experiment, SpecOf(subject.kind), Definitions(), Implementations(), torch::kCPU));
}

Parts::Parts(const Subject& subject, const Experiment& experiment)
    : environment(SpecOf(subject.kind)), plan(ValueOf(PlanExperiment(experiment, environment, Definitions()))) {
  model = ValueOf(Model::Create(plan, environment, torch::kCPU, static_cast<uint64_t>(experiment.experiment.seed),
                                torch::kFloat64));
  algorithm =
      ValueOf(ValueOf(Implementations().Find(subject.algorithm))->create(*experiment.algorithm_options, model.get()));
}

absl::StatusOr<Parts::Result> Parts::Update(const TensorBatch& batch, Stepper* stepper, Noise* noise) {
  UpdateContext context(stepper, Progress(), noise);
  algorithm->Update(Batches(&environment, {{plan.algorithm.tables[0].name, &batch}}), &context);
  if (!context.status().ok()) {
    return context.status();
  }
  Result result;
  result.priorities = context.priorities();
  for (const auto& [name, value] : context.TakeMetrics()) {
    for (const ParameterGroup* const group : GroupsOf(plan.algorithm, *model)) {
      if (name == group->name() + "_loss") {
        result.losses.emplace_back(name, value.clone());
      }
    }
  }
  return result;
}

std::vector<ParameterGroup*> GroupsOf(const AlgorithmPlan& plan, const Model& model) {
  std::vector<ParameterGroup*> groups;
  for (const NetworkNeed& need : plan.networks) {
    groups.push_back(model.net(need.name).group());
  }
  for (const ScalarNeed& need : plan.scalars) {
    groups.push_back(model.scalar(need.name)->group());
  }
  return groups;
}

torch::Tensor ValuesOf(const AlgorithmPlan& plan, const Model& model) {
  std::vector<torch::Tensor> values;
  for (const ParameterGroup* const group : GroupsOf(plan, model)) {
    values.push_back(group->values());
  }
  for (const NetworkNeed& need : plan.networks) {
    if (const Network* const target = model.net(need.name).target_network()) {
      values.push_back(target->parameters().values());
    }
  }
  return torch::cat(values);
}

}  // namespace waggle::testing
