#include "common/experiment/experiment.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/api/shard_config.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

// `algorithm:` as one section: the name, and the options of the algorithm of that name.
struct AlgorithmSection {
  const AlgorithmDefinitions* definitions = nullptr;  // Null when writing.
  std::string name;
  std::shared_ptr<AlgorithmOptions> options;

  void Visit(ConfigVisitor& visitor) {
    visitor.Choice("name", &name, definitions == nullptr ? std::vector<std::string>{name} : definitions->Names());
    if (definitions != nullptr) {
      const absl::StatusOr<const AlgorithmDefinition*> definition = definitions->Find(name);
      if (!definition.ok()) {
        // The name's own error has been reported; which keys belong here is not known.
        visitor.AllowOtherKeys();
        return;
      }
      options = (*definition)->new_options();
    }
    options->Visit(visitor);
  }
  absl::Status Validate() const { return options == nullptr ? absl::OkStatus() : options->Validate(); }
};

void VisitSections(Experiment* experiment, AlgorithmSection* algorithm, ConfigVisitor& visitor) {
  visitor.Section("experiment", &experiment->experiment);
  visitor.Section("environment", &experiment->environment);
  visitor.Section("algorithm", algorithm);
  visitor.Section("network", &experiment->network);
  visitor.Section("replay", &experiment->replay);
  visitor.Section("actor", &experiment->actor);
  visitor.Section("learner", &experiment->learner);
  visitor.Section("evaluation", &experiment->evaluation);
  visitor.Section("stop", &experiment->stop);
}

// What values of different sections must be to each other.
void CheckAcrossSections(const Experiment& experiment, ConfigReader* reader) {
  const ReplayOptions& replay = experiment.replay;
  // Actors may insert until the ratio strays up by error_buffer - samples_per_insert, the learner may sample until it
  // strays down by error_buffer - batch_size. Less room than one step of each and both can wait for ever.
  const double room = static_cast<double>(replay.servers) *
                      (static_cast<double>(experiment.learner.batch_size) + replay.samples_per_insert);
  if (replay.error_buffer > 0 && 2 * replay.error_buffer < room) {
    reader->Report("replay.error_buffer", absl::StrCat("got ", replay.error_buffer, "; wanted at least ", room / 2,
                                                       " (half of learner.batch_size + replay.samples_per_insert",
                                                       replay.servers > 1 ? ", for each of replay.servers" : "",
                                                       "), or actors and learner could wait for each other for ever"));
  }
  if (experiment.stop.target_return.has_value() && !experiment.evaluation.enabled) {
    reader->Report("stop.target_return",
                   "needs evaluation.enabled: true, because only evaluations are compared with it");
  }
}

absl::Status CheckTables(const Experiment& experiment, const EnvironmentSpec& environment,
                         const AlgorithmDefinitions& algorithms) {
  const absl::StatusOr<std::vector<TablePlan>> plans = PlanTables(experiment, environment, algorithms);
  if (!plans.ok()) {
    return Annotate(plans.status(), absl::StrCat("algorithm ", experiment.algorithm));
  }
  for (const TablePlan& plan : *plans) {
    WAGGLE_RETURN_IF_ERROR(Annotate(plan.table.Validate(), absl::StrCat("table \"", plan.table.name, "\"")));
    if (experiment.replay.servers > 1) {
      WAGGLE_RETURN_IF_ERROR(
          Annotate(CheckShardedBatch(plan.table, experiment.replay.servers, experiment.learner.batch_size),
                   absl::StrCat("replay.servers: ", experiment.replay.servers)));
    }
  }
  return absl::OkStatus();
}

template <class T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

const char* KindName(ActionSpec::Kind kind) {
  return kind == ActionSpec::Kind::kDiscrete ? "discrete" : "continuous";
}

}  // namespace

absl::StatusOr<Experiment> ParseExperiment(const std::string& yaml, const std::string& origin,
                                           const std::vector<std::pair<std::string, std::string>>& overrides,
                                           const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, origin));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  Experiment experiment;
  AlgorithmSection algorithm;
  algorithm.definitions = &algorithms;
  VisitSections(&experiment, &algorithm, reader);
  reader.Finish();
  if (errors.count() == 0) {
    CheckAcrossSections(experiment, &reader);
  }
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  experiment.algorithm = algorithm.name;
  experiment.algorithm_options = algorithm.options;
  return experiment;
}

absl::StatusOr<Experiment> LoadExperiment(const std::string& path,
                                          const std::vector<std::pair<std::string, std::string>>& overrides,
                                          const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string yaml, ReadYamlFile(path));
  return ParseExperiment(yaml, path, overrides, algorithms);
}

std::string ToYaml(const Experiment& experiment) {
  Experiment copy = experiment;
  AlgorithmSection algorithm;
  algorithm.name = experiment.algorithm;
  // A writer only reads what it visits; one Visit for reading and writing cannot be const.
  algorithm.options = std::const_pointer_cast<AlgorithmOptions>(experiment.algorithm_options);
  ConfigWriter writer;
  VisitSections(&copy, &algorithm, writer);
  return writer.text();
}

int64_t NumOutputs(const ActionSpec& action) {
  return action.kind == ActionSpec::Kind::kDiscrete ? action.num_values : static_cast<int64_t>(action.low.size());
}

absl::StatusOr<std::vector<TablePlan>> PlanTables(const Experiment& experiment, const EnvironmentSpec& environment,
                                                  const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* definition, algorithms.Find(experiment.algorithm));
  WAGGLE_ASSIGN_OR_RETURN(
      std::vector<TablePlan> plans,
      definition->plan_tables(*experiment.algorithm_options, environment, experiment.replay, experiment.learner));
  for (TablePlan& plan : plans) {
    plan.table.seed = static_cast<uint64_t>(experiment.experiment.seed);
    // A replay server may hold the tables of several experiments.
    plan.table.name = absl::StrCat(experiment.experiment.name, "/", plan.table.name);
  }
  return plans;
}

absl::Status CheckAgainstEnvironment(const Experiment& experiment, const EnvironmentSpec& environment,
                                     const AlgorithmDefinitions& algorithms) {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* definition, algorithms.Find(experiment.algorithm));
  if (!Contains(definition->action_kinds, environment.action.kind)) {
    std::vector<std::string> kinds;
    for (const ActionSpec::Kind kind : definition->action_kinds) {
      kinds.push_back(KindName(kind));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("environment.name: ", environment.name, " takes ", KindName(environment.action.kind),
                     " actions; algorithm ", experiment.algorithm, " wants ", absl::StrJoin(kinds, " or "), " ones"));
  }
  const std::string& head = experiment.network.head.type;
  if (!Contains(definition->head_types, head)) {
    return absl::InvalidArgumentError(
        absl::StrCat("network.head.type: got ", head, "; algorithm ", experiment.algorithm, " wants one of ",
                     absl::StrJoin(definition->head_types, ", "), DidYouMean(head, definition->head_types)));
  }
  const absl::StatusOr<NetworkShape> shape =
      InferShapes(experiment.network, environment.observation, NumOutputs(environment.action));
  if (!shape.ok()) {
    return Annotate(shape.status(), absl::StrCat("network for ", environment.name));
  }
  return CheckTables(experiment, environment, algorithms);
}

}  // namespace waggle
