#include "common/config/experiment/experiment.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/learner_checks.h"
#include "common/config/experiment/population_checks.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/shard_config.h"
#include "common/config/yaml_file.h"
#include "common/replay/ports/replay.h"

namespace waggle {
namespace {

// Keys that earlier versions printed for every experiment of an algorithm, each with its section.
constexpr std::pair<absl::string_view, absl::string_view> kRemovedKeys[] = {{"algorithm", "priority_epsilon"}};

void EraseRemovedKeys(YamlNode* root) {
  for (const auto& [section_key, key] : kRemovedKeys) {
    for (YamlEntry& section : root->entries) {
      std::vector<YamlEntry>& entries = section.value.entries;
      if (section.key == section_key) {
        entries.erase(std::remove_if(entries.begin(), entries.end(),
                                     [removed = key](const YamlEntry& entry) { return entry.key == removed; }),
                      entries.end());
      }
    }
  }
}

// Gives `algorithm.update_rate`, as earlier versions printed it, its present name.
void RenameTargetUpdateRate(YamlNode* root) {
  for (YamlEntry& section : root->entries) {
    for (YamlEntry& entry : section.value.entries) {
      if (section.key == "algorithm" && entry.key == "update_rate") {
        entry.key = "target_update_rate";
      }
    }
  }
}

// Earlier versions printed keys of normal distributions for heads of all kinds. A value that equals the default of an
// absent one counts as absent.
void ForgetPrintedStds(std::map<std::string, NetworkSpec>* networks) {
  const HeadSpec absent;
  for (auto& [network_name, network] : *networks) {
    for (auto& [head_name, head] : network.heads) {
      head.std = head.std == "free" ? absent.std : head.std;
      head.initial_std = head.initial_std == 1 ? absent.initial_std : head.initial_std;
      head.min_log_std = head.min_log_std == absent.MinLogStd() ? absent.min_log_std : head.min_log_std;
      head.max_log_std = head.max_log_std == absent.MaxLogStd() ? absent.max_log_std : head.max_log_std;
    }
  }
}

// The file's kind of sampler, over these defaults. kPrioritized if the section is wrong, perhaps because of the kind:
// nothing is refused for that.
SelectorKind SamplerKind(const YamlNode& root, KeysWithoutMeaning without_meaning, ReplayOptions replay) {
  ConfigErrors errors;
  ConfigReader reader(root, &errors, without_meaning);
  reader.Section("replay", &replay);
  return errors.count() > 0 ? SelectorKind::kPrioritized : replay.table.sampler.kind;
}

// `algorithm:` as one section: the name, and the options of the algorithm of that name.
struct AlgorithmSection {
  const AlgorithmDefinitions* definitions = nullptr;  // Null when writing.
  Experiment* experiment = nullptr;                   // Its other sections take the algorithm's defaults; when reading.
  // The kind of sampler over these defaults; when reading. Later sections are read later.
  std::function<SelectorKind(const ReplayOptions& defaults)> sampler_kind = {};
  std::string name = {};
  std::shared_ptr<AlgorithmOptions> options = nullptr;
  std::vector<ModuleChoice> modules = {};

  void Visit(ConfigVisitor& visitor) {
    visitor.Choice("name", &name, definitions == nullptr ? std::vector<std::string>{name} : definitions->Names());
    if (definitions != nullptr) {
      const absl::StatusOr<const AlgorithmDefinition*> definition = definitions->Find(name);
      if (!definition.ok()) {
        // The name's own error has been reported. The keys of this section are not known.
        visitor.AllowOtherKeys();
        return;
      }
      options = (*definition)->new_options();
      if ((*definition)->defaults != nullptr) {
        (*definition)->defaults(experiment);
      }
    }
    options->Visit(visitor);
    VisitImportanceExponent(visitor);
    if (visitor.MayBeGiven(!options->reward_weights.empty())) {
      visitor.DoubleList("reward_weights", &options->reward_weights, In(-1e6, 1e6));
    }
    if (definitions != nullptr || !modules.empty()) {
      const ModuleDefinitions* const known = definitions == nullptr ? nullptr : &definitions->modules;
      visitor.List("modules", &modules, [known] { return ModuleChoice(known); });
    }
  }
  // Reading takes it away if items are not drawn by priority.
  void VisitImportanceExponent(ConfigVisitor& visitor) const {
    std::optional<Schedule>& exponent = options->importance_exponent;
    if (definitions != nullptr && exponent.has_value()) {
      const SelectorKind sampler = sampler_kind(experiment->replay);
      if (!visitor.Applies("importance_exponent", sampler == SelectorKind::kPrioritized,
                           absl::StrCat("means nothing to the sampler ", Name(sampler),
                                        "; wanted none, or replay.sampler.kind: prioritized"))) {
        exponent.reset();
      }
    }
    if (exponent.has_value()) {
      visitor.Schedule("importance_exponent", &*exponent, In(0, 1).Live());
    }
  }
  absl::Status Validate() const { return options == nullptr ? absl::OkStatus() : options->Validate(); }
};

// `learner:`; a part of it has a meaning only beside the actor's.
struct LearnerSection {
  LearnerOptions* learner;
  bool infers;

  void Visit(ConfigVisitor& visitor) {
    learner->Visit(visitor);
    if (visitor.Applies("inference", infers,
                        "means nothing while each actor computes its own actions; wanted none, or actor.inference: "
                        "server")) {
      visitor.Section("inference", &learner->inference);
    }
  }
  absl::Status Validate() const { return learner->Validate(); }
};

// `short_form`: there may be a `network:`, which means the algorithm's only one.
void VisitSections(bool short_form, Experiment* experiment, AlgorithmSection* algorithm, ConfigVisitor& visitor) {
  visitor.Section("experiment", &experiment->experiment);
  visitor.Section("environment", &experiment->environment);
  visitor.Section("algorithm", algorithm);
  NetworkSpec of_unknown_algorithm;
  if (short_form && algorithm->options == nullptr) {
    visitor.Section("network", &of_unknown_algorithm);
  } else if (short_form && experiment->networks.size() == 1) {
    visitor.Section("network", &experiment->networks.begin()->second);
  }
  visitor.Map("networks", &experiment->networks);
  visitor.Section("replay", &experiment->replay);
  visitor.Section("actor", &experiment->actor);
  LearnerSection learner{&experiment->learner, experiment->actor.asks_learner()};
  visitor.Section("learner", &learner);
  if (!experiment->evaluation.has_own_environment) {
    experiment->evaluation.environment = experiment->environment;
  }
  visitor.Section("evaluation", &experiment->evaluation);
  visitor.Section("stop", &experiment->stop);
}

// One actor, no limit by time, the CPU.
void CheckDeterministic(const Experiment& experiment, ConfigReader* reader) {
  const auto check = [reader](bool holds, const char* key, const char* wanted) {
    if (!holds) {
      reader->Report(key, absl::StrCat("experiment.deterministic is true; wanted ", wanted));
    }
  };
  check(experiment.actor.processes == 1, "actor.processes", "1");
  check(experiment.learner.processes == 1, "learner.processes", "1");
  check(experiment.stop.max_seconds == 0, "stop.max_seconds", "0, and a limit on steps");
  check(experiment.learner.gradients == "local", "learner.gradients", "local");
  check(experiment.actor.device == "cpu", "actor.device", "cpu");
  check(experiment.learner.device == "cpu", "learner.device", "cpu");
  check(experiment.environment.Scheme() != kDmEnvRpc || experiment.environment.dm_env_rpc.seed != "none",
        "environment.dm_env_rpc.seed", "world or join");
  const TableConfig& table = experiment.replay.table;
  check(table.rate_limiter.samples_per_insert > 0, "replay.rate_limiter.samples_per_insert",
        "more than 0: the learner steps after each block follow from it");
}

// Sections that have mistakes: nothing that depends on their values can be checked. All sections if a mistake may be
// anywhere.
std::set<std::string> WrongSections(const ConfigErrors& errors) {
  const std::set<std::string> all = {"experiment", "environment", "algorithm", "network",    "networks",
                                     "replay",     "actor",       "learner",   "evaluation", "stop"};
  const std::set<std::string> wrong = errors.sections();
  return std::includes(all.begin(), all.end(), wrong.begin(), wrong.end()) ? wrong : all;
}

// Checks values of different sections against each other.
void CheckAcrossSections(const Experiment& experiment, const ConfigErrors& errors, ConfigReader* reader) {
  const std::set<std::string> wrong = WrongSections(errors);
  // An unknown algorithm's defaults are unknown too.
  const bool learner_and_replay =
      experiment.algorithm_options != nullptr && wrong.count("learner") + wrong.count("replay") == 0;
  const int64_t batch_size = experiment.learner.batch_size;
  // Each of several servers needs room for a batch of its own: CheckTables checks that.
  const absl::Status batch = experiment.replay.TableFor(batch_size).CheckBatchSize(batch_size);
  if (learner_and_replay && wrong.count("actor") == 0 && !batch.ok()) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(batch.message(), absl::MaxSplits(": ", 1));
    reader->Report(absl::StrCat("replay.", parts.first), parts.second);
  }
  if (experiment.experiment.deterministic && wrong.empty()) {
    CheckDeterministic(experiment, reader);
  }
  if (wrong.count("stop") + wrong.count("evaluation") == 0 && experiment.stop.target_return.has_value() &&
      !experiment.evaluation.enabled) {
    reader->Report("stop.target_return",
                   "needs evaluation.enabled: true, because only evaluations are compared with it");
  }
  if (wrong.empty()) {
    const absl::Status cuts = experiment.experiment.checkpoint.period > 0 ? CheckCuts(experiment) : absl::OkStatus();
    for (const absl::Status& status : {CheckPopulation(experiment), cuts}) {
      for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
        const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
        reader->Report(parts.first, parts.second);
      }
    }
  }
}

template <class T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string TextOf(EnvironmentOptions environment) {
  ConfigWriter writer;
  writer.Section("environment", &environment);
  return writer.text();
}

// Reads the right values of a file over the defaults, and reports the others.
Experiment ReadExperiment(const YamlNode& root, const AlgorithmDefinitions& algorithms,
                          const std::vector<std::string>& environments, KeysWithoutMeaning without_meaning,
                          const ConfigErrors& errors, ConfigReader* reader) {
  Experiment experiment;
  AlgorithmSection algorithm;
  algorithm.definitions = &algorithms;
  algorithm.experiment = &experiment;
  algorithm.sampler_kind = [&root, without_meaning](const ReplayOptions& defaults) {
    return SamplerKind(root, without_meaning, defaults);
  };
  VisitSections(/*short_form=*/root.Find("network") != nullptr, &experiment, &algorithm, *reader);
  reader->Finish();
  experiment.evaluation.has_own_environment =
      TextOf(experiment.evaluation.environment) != TextOf(experiment.environment);
  if (experiment.learner.batch_size == kOneOfEachLane) {
    const int64_t lanes = experiment.actor.processes_started() * experiment.actor.lanes;
    experiment.learner.batch_size = std::max<int64_t>(1, lanes / experiment.learner.processes);
  }
  const std::string environment = experiment.environment.Offer();
  if (!environments.empty() && !Contains(environments, environment)) {
    reader->Report("environment.name",
                   absl::StrCat("no environment named \"", environment, "\"", DidYouMean(environment, environments),
                                "; known: ", absl::StrJoin(environments, ", ")));
  }
  if (root.Find("network") != nullptr && root.Find("networks") != nullptr) {
    reader->Report("network", "means the same as the only entry of networks; wanted one of the two");
  }
  experiment.algorithm = algorithm.name;
  experiment.algorithm_options = algorithm.options;
  experiment.modules = std::move(algorithm.modules);
  for (ModuleChoice& chosen : experiment.modules) {
    chosen.definitions = nullptr;
  }
  CheckAcrossSections(experiment, errors, reader);
  return experiment;
}

absl::StatusOr<Experiment> Parse(YamlNode root, const std::vector<std::pair<std::string, std::string>>& overrides,
                                 const AlgorithmDefinitions& algorithms, const std::vector<std::string>& environments,
                                 KeysWithoutMeaning without_meaning) {
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors, without_meaning);
  Experiment experiment = ReadExperiment(root, algorithms, environments, without_meaning, errors, &reader);
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  return experiment;
}

// Each line that begins with a key is a problem with that key; the others are problems with the whole file.
void ReportLines(const absl::Status& problems, const YamlNode& root, ConfigErrors* errors, ConfigReader* reader) {
  if (problems.ok()) {
    return;
  }
  for (const absl::string_view line : absl::StrSplit(problems.message(), '\n')) {
    std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    std::vector<std::string> keys = absl::StrSplit(parts.first, absl::MaxSplits('.', 2));
    if (keys.size() == 3 && keys[0] == "networks" && root.Find("network") != nullptr) {
      keys = {"network", keys[2]};  // The file's form.
      parts.first = absl::StrJoin(keys, ".");
    }
    if (root.Find(keys[0]) != nullptr && !absl::StrContains(parts.first, ' ')) {
      reader->Report(parts.first, parts.second);
    } else {
      errors->Add({root.position.origin, 0}, "", line);
    }
  }
}

}  // namespace

absl::StatusOr<Experiment> ParseExperiment(const std::string& yaml, const std::string& origin,
                                           const std::vector<std::pair<std::string, std::string>>& overrides,
                                           const AlgorithmDefinitions& algorithms,
                                           const std::vector<std::string>& environments) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, origin));
  return Parse(std::move(root), overrides, algorithms, environments, KeysWithoutMeaning::kRefused);
}

absl::StatusOr<Experiment> ParseStoredExperiment(const std::string& yaml, const std::string& origin,
                                                 const std::vector<std::pair<std::string, std::string>>& overrides,
                                                 const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, origin));
  EraseRemovedKeys(&root);
  RenameTargetUpdateRate(&root);
  WAGGLE_ASSIGN_OR_RETURN(Experiment experiment, Parse(std::move(root), overrides, algorithms, /*environments=*/{},
                                                       KeysWithoutMeaning::kPassedOver));
  ForgetPrintedStds(&experiment.networks);
  return experiment;
}

absl::StatusOr<Experiment> LoadExperiment(const std::string& path,
                                          const std::vector<std::pair<std::string, std::string>>& overrides,
                                          const AlgorithmDefinitions& algorithms,
                                          const std::vector<std::string>& environments) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string yaml, ReadYamlFile(path));
  return ParseExperiment(yaml, path, overrides, algorithms, environments);
}

namespace {

using SpecOf = std::function<absl::StatusOr<std::optional<EnvironmentSpec>>(const EnvironmentOptions& options)>;

// The environment that is learned; in self-play that of one agent.
absl::StatusOr<std::optional<EnvironmentSpec>> LearnedSpec(const Experiment& experiment, const SpecOf& spec_of) {
  WAGGLE_ASSIGN_OR_RETURN(std::optional<EnvironmentSpec> spec, spec_of(experiment.environment));
  if (spec.has_value() && experiment.actor.self_play.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(spec, SelfPlaySpec(*spec));
  }
  return spec;
}

// The policy that is trained must be able to act there. The environment of self-play has an agent too many.
absl::Status CheckEvaluationEnvironment(const Experiment& experiment, const EnvironmentSpec& trained_on,
                                        const SpecOf& spec_of) {
  constexpr char kKey[] = "evaluation.environment";
  const bool is_self_play = experiment.actor.self_play.has_value() && experiment.evaluation.enabled;
  if (!experiment.evaluation.has_own_environment && !is_self_play) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::optional<EnvironmentSpec>> spec = spec_of(experiment.evaluation.environment);
  if (!spec.ok()) {
    return Annotate(spec.status(), kKey);
  }
  if (spec->has_value() &&
      ((*spec)->observations != trained_on.observations || (*spec)->actions != trained_on.actions)) {
    return absl::InvalidArgumentError(absl::StrCat(
        kKey, ": got ", (*spec)->DebugString(), "; wanted the observations and actions of ", trained_on.DebugString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Experiment> ParseAndCheckExperiment(
    const std::string& yaml, const std::string& origin,
    const std::vector<std::pair<std::string, std::string>>& overrides, const AlgorithmDefinitions& algorithms,
    const std::vector<std::string>& environments,
    const std::function<absl::StatusOr<std::optional<EnvironmentSpec>>(const EnvironmentOptions& options)>& spec_of,
    std::optional<EnvironmentSpec>* environment) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, origin));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  Experiment experiment = ReadExperiment(root, algorithms, environments, KeysWithoutMeaning::kRefused, errors, &reader);
  const std::set<std::string> wrong = WrongSections(errors);
  if (experiment.algorithm_options != nullptr && wrong.count("environment") == 0) {
    absl::StatusOr<std::optional<EnvironmentSpec>> spec = LearnedSpec(experiment, spec_of);
    if (spec.ok()) {
      *environment = *std::move(spec);
      if (environment->has_value()) {
        ReportLines(CheckAgainstEnvironment(experiment, **environment, algorithms, wrong), root, &errors, &reader);
        ReportLines(CheckEvaluationEnvironment(experiment, **environment, spec_of), root, &errors, &reader);
      }
    } else {
      const absl::string_view message = spec.status().message();
      const bool says_key = absl::StartsWith(message, "environment.") || absl::StartsWith(message, "actor.");
      ReportLines(says_key ? spec.status() : Annotate(spec.status(), "environment"), root, &errors, &reader);
    }
  }
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  return experiment;
}

void VisitExperiment(const Experiment& experiment, ConfigVisitor& visitor) {
  Experiment copy = experiment;
  AlgorithmSection algorithm;
  algorithm.name = experiment.algorithm;
  // The visitor only reads what it visits; one Visit for reading and writing cannot be const.
  algorithm.options = std::const_pointer_cast<AlgorithmOptions>(experiment.algorithm_options);
  algorithm.modules = experiment.modules;
  VisitSections(/*short_form=*/false, &copy, &algorithm, visitor);
}

std::string ToYaml(const Experiment& experiment) {
  ConfigWriter writer;
  VisitExperiment(experiment, writer);
  return writer.text();
}

}  // namespace waggle
