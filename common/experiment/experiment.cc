#include "common/experiment/experiment.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/api/replay.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"
#include "common/experiment/space_checks.h"
#include "common/table_config/batch_layout.h"
#include "common/table_config/shard_config.h"

namespace waggle {
namespace {

// Of one message of 64 MiB; the rest of it is for what is said about the rows.
constexpr int64_t kMaxStepBytes = int64_t{56} << 20;

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
  const int64_t batch_size = experiment.learner.batch_size;
  // With several servers each needs room for a batch of its own: CheckTables looks at that.
  const absl::Status batch = experiment.replay.TableFor(batch_size).CheckBatchSize(batch_size);
  if (!batch.ok()) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(batch.message(), absl::MaxSplits(": ", 1));
    reader->Report(absl::StrCat("replay.", parts.first), parts.second);
  }
  if (experiment.stop.target_return.has_value() && !experiment.evaluation.enabled) {
    reader->Report("stop.target_return",
                   "needs evaluation.enabled: true, because only evaluations are compared with it");
  }
}

// Gathers problems of any code, one a line: the first one's code is that of all.
class FirstOfAll {
 public:
  void Add(const absl::Status& status) {
    if (status_.ok()) {
      status_ = status;
    } else if (!status.ok()) {
      status_ = absl::Status(status_.code(), absl::StrCat(status_.message(), "\n", status.message()));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Problems with fields of a table, with the keys that these have in an experiment.
absl::Status InReplaySection(const absl::Status& problems) {
  return absl::Status(problems.code(),
                      absl::StrCat("replay.", absl::StrReplaceAll(problems.message(), {{"\n", "\nreplay."}})));
}

// What travels at once is known before a process starts.
absl::Status CheckBatch(const Experiment& experiment, const TableConfig& table) {
  const int64_t batch_size = experiment.learner.batch_size;
  const auto max_batch_bytes = static_cast<size_t>(ReplaySamplerOptions().max_batch_bytes);
  return Annotate(MakeBatchLayout(table, batch_size, max_batch_bytes).status(),
                  absl::StrCat("learner.batch_size: ", batch_size));
}

absl::Status CheckStep(const Experiment& experiment, const TableConfig& table) {
  const int64_t lanes = experiment.actor.lanes;
  const int64_t row_bytes = BytesARow(table.signature);
  const int64_t most = row_bytes == 0 ? lanes : kMaxStepBytes / row_bytes;
  if (lanes <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("actor.lanes: ", lanes, ": a step of ", lanes, lanes == 1 ? " lane has " : " lanes has ",
                   lanes * row_bytes, " bytes and is sent at once, which at most ", kMaxStepBytes,
                   " can be: ", most == 0 ? "not even one lane's can" : absl::StrCat("wanted at most ", most)));
}

absl::Status CheckTable(const Experiment& experiment, const TableConfig& table) {
  if (const absl::Status compression = table.ValidateCompression(); !compression.ok()) {
    return InReplaySection(compression);
  }
  WAGGLE_RETURN_IF_ERROR(table.Validate());
  FirstOfAll problems;
  problems.Add(CheckBatch(experiment, table));
  problems.Add(CheckStep(experiment, table));
  if (experiment.replay.servers > 1) {
    problems.Add(Annotate(CheckShardedBatch(table, experiment.replay.servers, experiment.learner.batch_size),
                          absl::StrCat("replay.servers: ", experiment.replay.servers)));
  }
  return problems.status();
}

absl::Status CheckTables(const Experiment& experiment, const EnvironmentSpec& environment,
                         const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<TablePlan> plans, PlanTables(experiment, environment, algorithms));
  FirstOfAll problems;
  for (const TablePlan& plan : plans) {
    problems.Add(CheckTable(experiment, plan.table));
  }
  return problems.status();
}

template <class T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

absl::StatusOr<Experiment> ParseExperiment(const std::string& yaml, const std::string& origin,
                                           const std::vector<std::pair<std::string, std::string>>& overrides,
                                           const AlgorithmDefinitions& algorithms,
                                           const std::vector<std::string>& environments) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, origin));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  Experiment experiment;
  AlgorithmSection algorithm;
  algorithm.definitions = &algorithms;
  VisitSections(&experiment, &algorithm, reader);
  reader.Finish();
  const std::string& environment = experiment.environment.name;
  if (!environments.empty() && !Contains(environments, environment)) {
    reader.Report("environment.name",
                  absl::StrCat("no environment named \"", environment, "\"", DidYouMean(environment, environments),
                               "; known: ", absl::StrJoin(environments, ", ")));
  }
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
                                          const AlgorithmDefinitions& algorithms,
                                          const std::vector<std::string>& environments) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string yaml, ReadYamlFile(path));
  return ParseExperiment(yaml, path, overrides, algorithms, environments);
}

absl::Status LocateProblems(const absl::Status& problems, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& overrides) {
  if (problems.ok()) {
    return problems;
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::string yaml, ReadYamlFile(path));
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, path));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  for (const absl::string_view line : absl::StrSplit(problems.message(), '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (root.Find(std::string(parts.first.substr(0, parts.first.find('.')))) != nullptr &&
        parts.first.find(' ') == absl::string_view::npos) {
      reader.Report(parts.first, parts.second);
    } else {
      errors.Add({path, 0}, "", line);
    }
  }
  return absl::Status(problems.code(), errors.ToStatus().message());
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

int64_t NumOutputs(const SpaceLeaf& action) {
  return action.num_values.empty() ? action.array.NumElements() : action.TotalChoices();
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
  FirstOfAll problems;
  problems.Add(CheckSpaces(experiment.algorithm, *definition, environment));
  const std::string& head = experiment.network.head.type;
  if (!Contains(definition->head_types, head)) {
    problems.Add(absl::InvalidArgumentError(
        absl::StrCat("network.head.type: got ", head, "; algorithm ", experiment.algorithm, " wants one of ",
                     absl::StrJoin(definition->head_types, ", "), DidYouMean(head, definition->head_types))));
  }
  if (environment.observations.size() > 1 || environment.actions.size() > 1) {
    return problems.status();  // Network and tables are made for one of each.
  }
  problems.Add(Annotate(
      InferShapes(experiment.network, environment.observations[0].array, NumOutputs(environment.actions[0])).status(),
      absl::StrCat("network for ", environment.name)));
  problems.Add(CheckTables(experiment, environment, algorithms));
  return problems.status();
}

}  // namespace waggle
