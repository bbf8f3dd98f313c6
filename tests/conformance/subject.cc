#include "tests/conformance/subject.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/conformance/fields.h"

namespace waggle::testing {
namespace {

// The networks of the plan for this kind, which may affect them.
std::vector<NetworkNeed> NetworksOf(const Subject& subject, const Experiment& experiment) {
  const AlgorithmDefinition& definition = *ValueOf(Definitions().Find(subject.algorithm));
  const EnvironmentSpec environment = SpecOf(subject.kind);
  const PlanContext context{environment, experiment.networks, experiment.replay, experiment.learner};
  AlgorithmPlan plan = ValueOf(definition.plan(*experiment.algorithm_options, context));
  for (const ModuleChoice& chosen : experiment.modules) {
    REQUIRE_OK(ValueOf(Definitions().modules.Find(chosen.type))->extend(*chosen.options, context, &plan));
  }
  return plan.networks;
}

Experiment WithUnits(const Subject& subject, int64_t units, Overrides overrides) {
  if (!subject.sampler.empty()) {
    overrides.emplace_back("replay.sampler.kind", subject.sampler);
  }
  if (!subject.module.empty()) {
    // A bonus must not hide the reward.
    FieldWalk walk;
    ValueOf(Definitions().modules.Find(subject.module))->new_options()->Visit(walk);
    overrides.emplace_back(
        "algorithm.modules",
        absl::StrCat("[{type: ", subject.module, walk.numbers.count("weight") > 0 ? ", weight: 0.1}]" : "}]"));
  }
  const Experiment defaults = ValueOf(Parse(subject.algorithm, overrides));
  for (const NetworkNeed& need : NetworksOf(subject, defaults)) {
    const std::string network = absl::StrCat("networks.", need.section.empty() ? need.name : need.section);
    overrides.insert(overrides.begin(), {absl::StrCat(network, ".torso"),
                                         absl::StrCat("[{type: mlp, units: [", units, "], activation: tanh}",
                                                      need.learns_by_batch ? ", {type: batch_norm}]" : "]")});
    if (subject.kind == TinyKind::kImage) {
      overrides.emplace_back(absl::StrCat(network, ".encoders"), "{camera: [{type: flatten}]}");
    }
    if (subject.Remembers()) {
      overrides.emplace_back(absl::StrCat(network, ".core"),
                             absl::StrCat("{type: ", subject.core, ", units: ", units, "}"));
    }
  }
  Experiment experiment = ValueOf(Parse(subject.algorithm, overrides));
  // A default may describe a network of the plan for another kind of action.
  const std::vector<NetworkNeed> needs = NetworksOf(subject, experiment);
  for (auto network = experiment.networks.begin(); network != experiment.networks.end();) {
    const bool known = std::any_of(needs.begin(), needs.end(), [&](const NetworkNeed& need) {
      return need.name == network->first || need.section == network->first;
    });
    network = known ? std::next(network) : experiment.networks.erase(network);
  }
  return experiment;
}

// The core types with which a kind is tested. The memory task cannot be learned without one.
std::vector<std::string> CoresFor(TinyKind kind) {
  switch (kind) {
    case TinyKind::kReal:
      return {"none", "gru"};
    case TinyKind::kMemory:
      return {"lstm"};
    default:
      return {"none"};
  }
}

bool IsSimple(TinyKind kind) {
  return kind == TinyKind::kDiscrete || kind == TinyKind::kReal || kind == TinyKind::kMemory ||
         kind == TinyKind::kAgents;
}

// The algorithm's own, and if it replays items in a simple kind another one.
std::vector<std::string> SamplersFor(const std::string& algorithm, TinyKind kind) {
  const TableConfig table = ValueOf(Parse(algorithm)).replay.table;
  if (table.max_times_sampled > 0 || !IsSimple(kind)) {
    return {""};
  }
  return {"", table.sampler.kind == SelectorKind::kPrioritized ? "uniform" : "prioritized"};
}

bool IsPlanned(const Subject& subject) {
  return !subject.Remembers() || PlanExperiment(SmallExperiment(subject), SpecOf(subject.kind), Definitions()).ok();
}

bool LearnsVectorRewards(const std::string& algorithm) {
  const absl::StatusOr<ExperimentPlan> plan =
      PlanExperiment(ValueOf(Parse(algorithm)), SpecOf(TinyKind::kRewards), Definitions());
  return plan.ok() && plan->algorithm.learns_vector_rewards;
}

// Those that serve the algorithm in this kind.
std::vector<std::string> ModulesFor(const std::string& algorithm, TinyKind kind) {
  std::vector<std::string> serving;
  for (const std::string& module : Definitions().modules.Names()) {
    const Overrides chosen = {{"algorithm.modules", absl::StrCat("[{type: ", module, "}]")}};
    if (CheckAgainstEnvironment(ValueOf(Parse(algorithm, chosen)), SpecOf(kind), Definitions()).ok()) {
      serving.push_back(module);
    }
  }
  return serving;
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

std::vector<std::string> Algorithms() {
  const char* const only = std::getenv("WAGGLE_CONFORMANCE");
  if (only == nullptr || *only == '\0') {
    return Definitions().Names();
  }
  REQUIRE_OK(Definitions().Find(only).status());
  return {only};
}

bool Claims(const AlgorithmDefinition& definition, TinyKind kind) {
  const std::vector<SpaceKind>& kinds = definition.action_kinds;
  const auto takes = [&kinds](SpaceKind wanted) {
    return std::find(kinds.begin(), kinds.end(), wanted) != kinds.end();
  };
  switch (kind) {
    case TinyKind::kAgents:
      return definition.takes_agents && takes(SpaceKind::kDiscrete);
    case TinyKind::kRealAgents:
      return definition.takes_agents && takes(SpaceKind::kBox);
    case TinyKind::kUnlikeAgents:
      return definition.takes_agents && Claims(definition, TinyKind::kMixed);
    case TinyKind::kMixed:
      return takes(SpaceKind::kDiscrete) && takes(SpaceKind::kMultiDiscrete) && takes(SpaceKind::kBox);
    case TinyKind::kHybrid:
      return definition.takes_choice_beside_reals || Claims(definition, TinyKind::kMixed);
    default:
      return takes(SpecOf(kind).actions[0].kind);
  }
}

const std::vector<Subject>& Subjects() {
  static const auto* const subjects = [] {
    auto* const found = new std::vector<Subject>;
    for (const std::string& algorithm : Algorithms()) {
      std::set<std::string> modules;  // Those that it has in a kind.
      bool is_first = true;
      for (const TinyKind kind : TinyKinds()) {
        if (kind == TinyKind::kRewards && !LearnsVectorRewards(algorithm)) {
          continue;  // To the others it is a scalar.
        }
        for (const std::string& core : CoresFor(kind)) {
          if (!Claims(*ValueOf(Definitions().Find(algorithm)), kind) || !IsPlanned({algorithm, kind, core})) {
            continue;
          }
          for (const std::string& sampler : HasGoal(kind) ? std::vector<std::string>() : SamplersFor(algorithm, kind)) {
            found->push_back({algorithm, kind, core, sampler});
          }
          if (is_first || HasGoal(kind)) {
            for (const std::string& module : ModulesFor(algorithm, kind)) {
              if (modules.insert(module).second) {
                found->push_back({algorithm, kind, core, "", module});
              }
            }
          }
          is_first = false;
        }
      }
    }
    return found;
  }();
  return *subjects;
}

EnvironmentSpec SpecOf(TinyKind kind) {
  return TinyEnvironment(kind, /*is_long=*/true, 0).spec();
}

absl::StatusOr<Experiment> Parse(const std::string& algorithm, const Overrides& overrides) {
  absl::StatusOr<Experiment> experiment =
      ParseExperiment(absl::StrCat("algorithm: {name: ", algorithm, "}\nstop: {max_seconds: 1}\n"), "test.yaml",
                      overrides, Definitions());
  if (experiment.ok() && !experiment->actor.acts()) {
    experiment->replay.import = "demonstrations";
  }
  return experiment;
}

Experiment SmallExperiment(const Subject& subject, const Overrides& overrides) {
  Overrides all = {{"learner.batch_size", "32"}, {"actor.lanes", "32"}};
  FieldWalk walk;
  ValueOf(Definitions().Find(subject.algorithm))->new_options()->Visit(walk);
  // If a batch is divided, rows in another order make other parts.
  for (const auto& [option, value] : Overrides{
           {"minibatches", "1"}, {"epochs", "2"}, {"policy_phases", "2"}, {"unroll", "8"}, {"policy_delay", "2"}}) {
    if (walk.numbers.count(option) > 0) {
      all.emplace_back("algorithm." + option, value);
    }
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
  FieldWalk walk;
  ValueOf(Definitions().Find(subject.algorithm))->new_options()->Visit(walk);
  // Large batches, many quantiles, and many updates for each environment step would take minutes.
  constexpr int64_t kBatch = 64;
  Overrides overrides;
  if (ValueOf(Parse(subject.algorithm)).learner.batch_size > kBatch) {
    overrides.emplace_back("learner.batch_size", absl::StrCat(kBatch));
  }
  for (const auto& [option, value] : Overrides{{"policy_delay", "2"}, {"quantiles", "8"}}) {
    if (walk.numbers.count(option) > 0) {
      overrides.emplace_back("algorithm." + option, value);
    }
  }
  Experiment experiment = WithUnits(subject, 32, std::move(overrides));
  double& samples = experiment.replay.table.rate_limiter.samples_per_insert;
  samples = std::min(samples, static_cast<double>(experiment.learner.batch_size));
  return experiment;
}

std::vector<Overrides> OtherOptions(const Subject& subject) {
  std::vector<Overrides> others;
  if (!subject.sampler.empty() || !subject.module.empty() || !IsSimple(subject.kind) || subject.core == "gru") {
    return others;
  }
  FieldWalk walk;
  ValueOf(Definitions().Find(subject.algorithm))->new_options()->Visit(walk);
  Overrides core;
  for (const NetworkNeed& need : NetworksOf(subject, ValueOf(Parse(subject.algorithm)))) {
    if (subject.Remembers() && need.acts) {
      core.emplace_back(absl::StrCat("networks.", need.name, ".core"), absl::StrCat("{type: ", subject.core, "}"));
    }
  }
  for (const auto& [path, value] : OtherValues(walk)) {
    const Overrides overrides = {{"algorithm." + path, value}};
    Overrides tried = core;
    tried.insert(tried.end(), overrides.begin(), overrides.end());
    const absl::StatusOr<Experiment> experiment = Parse(subject.algorithm, tried);
    const absl::Status fits = experiment.ok()
                                  ? CheckAgainstEnvironment(*experiment, SpecOf(subject.kind), Definitions())
                                  : experiment.status();
    if (!absl::StrContains(path, "optimizer.") && fits.ok()) {
      others.push_back(overrides);
    }
  }
  return others;
}

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Subject& subject, const Experiment& experiment,
                                             torch::Device device) {
  return ValueOf(AlgorithmTrainee::Create(experiment, SpecOf(subject.kind), Definitions(), Implementations(), device));
}

Parts::Parts(const Subject& subject, const Experiment& experiment, torch::Device device)
    : environment(SpecOf(subject.kind)), plan(ValueOf(PlanExperiment(experiment, environment, Definitions()))) {
  model = ValueOf(
      Model::Create(plan, environment, device, static_cast<uint64_t>(experiment.experiment.seed), torch::kFloat64));
  algorithm = std::make_unique<AlgorithmWithModules>(
      ValueOf(AlgorithmWithModules::Create(experiment, plan.algorithm, Implementations(), model.get())));
}

absl::StatusOr<Parts::Result> Parts::Update(const TensorBatch& batch, Stepper* stepper, Noise* noise) {
  UpdateContext context(stepper, Progress(), noise);
  algorithm->Update({{plan.algorithm.tables[0].name, &batch}}, &context);
  if (!context.status().ok()) {
    return context.status();
  }
  Result result;
  result.priorities = context.priorities();
  for (const auto& [name, value] : context.TakeMetrics()) {
    for (const ParameterGroup* const group : model->groups()) {
      if (name == group->name() + "_loss") {
        result.losses.emplace_back(name, value.clone());
      }
    }
  }
  return result;
}

torch::Tensor ValuesOf(const AlgorithmPlan& plan, const Model& model) {
  std::vector<torch::Tensor> values;
  for (const ParameterGroup* const group : model.groups()) {
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
