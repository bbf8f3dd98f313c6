#include "common/config/experiment/experiment_plan.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/learner_checks.h"
#include "common/config/experiment/lock_step.h"
#include "common/config/experiment/space_checks.h"
#include "common/config/plan/head_kinds.h"
#include "common/config/plan/network_identity.h"
#include "common/config/plan/plan_keys.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/shard_config.h"
#include "common/replay/ports/replay.h"

namespace waggle {
namespace {

// In a message of 64 MiB; the rest is for the rows' descriptions.
constexpr int64_t kMaxStepBytes = int64_t{56} << 20;

// Gathers problems of any code, one a line. Their status has the first one's code.
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

// Gives problems with fields of a table the keys of an experiment.
absl::Status InReplaySection(const absl::Status& problems) {
  return absl::Status(problems.code(),
                      absl::StrCat("replay.", absl::StrReplaceAll(problems.message(), {{"\n", "\nreplay."}})));
}

// Batch sizes are known before a process starts.
absl::Status CheckBatch(const TablePlan& plan) {
  const auto max_batch_bytes = static_cast<size_t>(ReplaySamplerOptions().max_batch_bytes);
  return Annotate(MakeBatchLayout(plan.table, plan.batch_size, max_batch_bytes).status(),
                  absl::StrCat("learner.batch_size: ", plan.batch_size));
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
                   lanes * row_bytes, " bytes, and one message has room for ", kMaxStepBytes, ": ",
                   most == 0 ? "not even one lane fits" : absl::StrCat("wanted at most ", most)));
}

// Checks the room for an item at each server, and for the items with which learning begins; each brings at least one
// row. The size of compressed columns is not known: they are left out.
absl::Status CheckBytes(const Experiment& experiment, const TableConfig& table) {
  std::vector<ArraySpec> plain;
  for (const ArraySpec& column : table.signature) {
    const auto compressed = [&column](const ColumnCompression& one) { return one.column == column.name; };
    if (std::none_of(table.compression.begin(), table.compression.end(), compressed)) {
      plain.push_back(column);
    }
  }
  const int64_t row_bytes = BytesARow(plain);
  const int64_t item_rows = table.max_window + table.MaxContextRows();
  const int64_t rows = std::max(experiment.replay.servers * item_rows, table.rate_limiter.min_items);
  if (row_bytes == 0 || row_bytes > kMaxStepBytes ||
      table.max_bytes / row_bytes >= rows) {  // CheckStep has the second.
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "replay.max_bytes: got ", table.max_bytes, "; wanted at least ", rows * row_bytes, ", for ", rows, " rows of ",
      row_bytes, " bytes: replay.servers with an item of ", item_rows, " each, and rate_limiter.min_items"));
}

absl::Status CheckTable(const Experiment& experiment, const TablePlan& plan) {
  const TableConfig& table = plan.table;
  if (const absl::Status compression = table.ValidateCompression(); !compression.ok()) {
    return InReplaySection(compression);
  }
  WAGGLE_RETURN_IF_ERROR(table.Validate());
  FirstOfAll problems;
  problems.Add(CheckBytes(experiment, table));
  problems.Add(CheckBatch(plan));
  problems.Add(CheckStep(experiment, table));
  if (experiment.replay.servers > 1) {
    problems.Add(Annotate(CheckShardedBatch(table, experiment.replay.servers, plan.batch_size),
                          absl::StrCat("replay.servers: ", experiment.replay.servers)));
  }
  return problems.status();
}

absl::Status CheckNetworkNames(const Experiment& experiment, const AlgorithmPlan& plan) {
  std::vector<std::string> known;
  for (const NetworkNeed& need : plan.networks) {
    known.push_back(need.name);
    if (!need.section.empty() && std::find(known.begin(), known.end(), need.section) == known.end()) {
      known.push_back(need.section);
    }
  }
  Problems problems;
  for (const auto& [name, network] : experiment.networks) {
    problems.AddUnless(std::find(known.begin(), known.end(), name) != known.end(), "networks.", name, ": algorithm ",
                       experiment.algorithm, " has no such network", DidYouMean(name, known), "; it has ",
                       absl::StrJoin(known, ", "));
  }
  return problems.ToStatus();
}

// An exploration that does not fit would be ignored in silence.
absl::Status CheckExploration(const EnvironmentSpec& environment, const AlgorithmPlan& plan) {
  bool has_values = false;
  for (const NetworkNeed& need : plan.networks) {
    for (const auto& [name, head] : need.heads) {
      has_values = has_values || (need.acts && GivesChoicesValues(head.kind));
    }
  }
  const std::string& type = plan.exploration.type;
  const bool is_real = PolicyHead(environment) == HeadKind::kNormal;
  const std::string noisy = plan.own_policy ? "" : ", parameter_noise";
  Problems problems;
  problems.AddUnless(
      type != "parameter_noise" || (!plan.own_policy && (has_values || is_real)),
      "algorithm.exploration.type: parameter_noise is for an acting network that gives values of choices "
      "or real actions; wanted none");
  problems.AddUnless(
      (type != "epsilon_greedy" && type != "boltzmann") || has_values, "algorithm.exploration.type: ", type,
      " is for networks that give choices their values; wanted none",
      is_real ? absl::StrCat(noisy, ", gaussian, clipped_gaussian, moving_average, uniform or ornstein_uhlenbeck")
              : "");
  problems.AddUnless(!plan.exploration.AddsNoise() || is_real, "algorithm.exploration.type: ", type,
                     " is for real actions, and ", environment.name, " takes ",
                     absl::StrJoin(environment.actions, " and ",
                                   [](std::string* text, const SpaceLeaf& action) { *text += Name(action.kind); }),
                     " ones; wanted none", has_values ? absl::StrCat(noisy, ", epsilon_greedy or boltzmann") : "");
  return problems.ToStatus();
}

// Lets the experiment's modules extend the algorithm's plan, in their order.
absl::Status ExtendByModules(const Experiment& experiment, const ModuleDefinitions& definitions,
                             const PlanContext& context, AlgorithmPlan* plan) {
  Problems problems;
  std::set<std::string> types;
  const ModuleDefinition* last = nullptr;
  const size_t agents = AgentsOf(context.environment).size();
  for (size_t i = 0; i < experiment.modules.size(); ++i) {
    const ModuleChoice& chosen = experiment.modules[i];
    const std::string key = absl::StrCat("algorithm.modules[", i, "].");
    WAGGLE_ASSIGN_OR_RETURN(const ModuleDefinition* const definition, definitions.Find(chosen.type));
    if (!types.insert(chosen.type).second) {
      problems.AddUnless(false, key, "type: got ", chosen.type, " a second time; wanted one of each type");
      continue;
    }
    if (last != nullptr) {
      problems.AddUnless(last->stage <= definition->stage, key, "type: got ", chosen.type, " after ",
                         experiment.modules[i - 1].type, "; wanted it before: it changes what that one reads");
    }
    last = definition;
    if (agents > 1) {
      problems.AddUnless(false, key, "type: got ", chosen.type, ", which is for one agent, and environment ",
                         context.environment.name, " has ", agents, "; wanted no modules");
      continue;
    }
    problems.AddIfBad("", Behind(key, definition->extend(*chosen.options, context, plan)));
  }
  return problems.ToStatus();
}

// Adds to each table another one for imported episodes alone, which takes over their share of its batch. No actor
// inserts there, so that its limiter only waits for the first ones.
void AddImportedTables(const Experiment& experiment, AlgorithmPlan* plan) {
  const double share = experiment.replay.imported_share;
  if (share == 0 || !experiment.actor.acts()) {
    return;
  }
  std::vector<TablePlan> added;
  for (TablePlan& table : plan->tables) {
    if (table.is_modules || table.batch_size < 2) {  // CheckImport refuses a batch of one row.
      continue;
    }
    TablePlan& imported = added.emplace_back(table);
    const int64_t rows = imported.batch_size;
    imported.adds_to = imported.table.name;
    imported.table.name = absl::StrCat("imported_", imported.table.name);
    imported.table.rate_limiter = RateLimiterConfig();
    imported.batch_size = std::clamp<int64_t>(std::llround(share * static_cast<double>(rows)), 1, rows - 1);
    table.batch_size = rows - imported.batch_size;
  }
  plan->tables.insert(plan->tables.end(), added.begin(), added.end());
}

// The weights of a vector reward's dimensions.
absl::StatusOr<std::vector<double>> RewardWeights(const AlgorithmOptions& options, const EnvironmentSpec& environment) {
  const std::vector<double>& given = options.reward_weights;
  const ArraySpec& reward = environment.rewards[0];
  if (reward.shape.empty() && given.empty()) {
    return given;
  }
  if (reward.shape.empty() || (!given.empty() && given.size() != static_cast<size_t>(reward.shape[0]))) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.reward_weights: got ", given.size(), " numbers for ",
                                                   reward.DebugString(), "; wanted ",
                                                   reward.shape.empty() ? "none" : "one for each dimension, or none"));
  }
  return given.empty() ? std::vector<double>(static_cast<size_t>(reward.shape[0]), 1) : given;
}

absl::StatusOr<AlgorithmPlan> PlanAlgorithm(const Experiment& experiment, const EnvironmentSpec& environment,
                                            const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* definition, algorithms.Find(experiment.algorithm));
  const PlanContext context{environment, experiment.networks, experiment.replay, experiment.learner};
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, definition->plan(*experiment.algorithm_options, context));
  WAGGLE_ASSIGN_OR_RETURN(plan.reward_weights, RewardWeights(*experiment.algorithm_options, environment));
  WAGGLE_RETURN_IF_ERROR(ExtendByModules(experiment, algorithms.modules, context, &plan));
  AddImportedTables(experiment, &plan);
  for (TablePlan& table : plan.tables) {
    table.table.seed = static_cast<uint64_t>(experiment.experiment.seed);
    table.name = table.table.name;
    // A replay server may hold the tables of several experiments.
    table.table.name = absl::StrCat(experiment.experiment.name, "/", table.table.name);
    if (!experiment.actor.acts()) {  // Nothing is inserted beside the imported episodes.
      RateLimiterConfig limiter;
      limiter.min_items = table.table.rate_limiter.min_items;
      table.table.rate_limiter = limiter;
    }
    if (experiment.experiment.deterministic) {
      table.table.rate_limiter = LimiterInLockStep(table.table.rate_limiter);
    }
  }
  return plan;
}

// A core learns from sequences. The acting network's state is in the stream, so that an unroll continues from the
// policy's state.
absl::Status AddCoreState(const Experiment& experiment, const NetworkNeed& need, const NetworkPlan& network,
                          AlgorithmPlan* plan) {
  if (network.state_size == 0) {
    return absl::OkStatus();
  }
  for (const TablePlan& table : plan->tables) {
    if (table.window.kind == WindowPlan::Kind::kNStep) {
      return absl::InvalidArgumentError(absl::StrCat("networks.", network.name, ".core: algorithm ",
                                                     experiment.algorithm,
                                                     " learns from transitions, and a core from sequences; wanted the "
                                                     "type none"));
    }
  }
  if (!need.acts && need.agents.empty()) {
    return absl::OkStatus();
  }
  if (plan->exploration.type == "parameter_noise") {
    return absl::InvalidArgumentError(absl::StrCat("networks.", network.name,
                                                   ".core: a core cannot act with the exploration parameter_noise; "
                                                   "wanted the type none"));
  }
  if (plan->own_policy) {
    return absl::InvalidArgumentError(absl::StrCat("networks.", network.name, ".core: the policy of algorithm ",
                                                   experiment.algorithm,
                                                   " keeps no state of a core; wanted the type none"));
  }
  plan->columns.push_back(CoreStateColumn(network));
  for (TablePlan& table : plan->tables) {
    table.table.signature.push_back(CoreStateColumn(network));
    table.table.view.push_back({kCoreState, kCoreState, ViewField::Rows::kFirst});
  }
  return absl::OkStatus();
}

// Gives all tables the columns of all: they share the rows of one stream.
absl::Status UniteSignatures(std::vector<TablePlan>* tables) {
  std::vector<ArraySpec> columns;
  for (const TablePlan& plan : *tables) {
    for (const ArraySpec& column : plan.table.signature) {
      const auto same = std::find_if(columns.begin(), columns.end(),
                                     [&column](const ArraySpec& other) { return other.name == column.name; });
      if (same == columns.end()) {
        columns.push_back(column);
      } else if (*same != column) {
        return absl::InvalidArgumentError(absl::StrCat("table ", plan.table.name, ": got the column ",
                                                       column.DebugString(), "; wanted that of the other tables, ",
                                                       same->DebugString()));
      }
    }
  }
  for (TablePlan& plan : *tables) {
    plan.table.signature = columns;
  }
  return absl::OkStatus();
}

// The networks that can be planned. Problems of the others are added to `problems`, and core states to the plan.
std::vector<NetworkPlan> PlanNetworks(const Experiment& experiment, const EnvironmentSpec& environment,
                                      AlgorithmPlan* plan, FirstOfAll* problems) {
  problems->Add(CheckNetworkNames(experiment, *plan));
  std::vector<NetworkPlan> networks;
  std::set<std::string> messages;  // Networks of one section have the same problems.
  for (const NetworkNeed& need : plan->networks) {
    auto spec = experiment.networks.find(need.name);
    const bool is_own = need.section.empty() || spec != experiment.networks.end();
    spec = is_own ? spec : experiment.networks.find(need.section);
    absl::StatusOr<NetworkPlan> network =
        PlanNetwork(need, spec == experiment.networks.end() ? NetworkSpec() : spec->second, environment);
    if (!network.ok()) {
      const std::string message =
          is_own ? std::string(network.status().message())
                 : absl::StrReplaceAll(network.status().message(), {{absl::StrCat("networks.", need.name, "."),
                                                                     absl::StrCat("networks.", need.section, ".")}});
      problems->Add(messages.insert(message).second ? absl::Status(network.status().code(), message)
                                                    : absl::OkStatus());
    } else {
      problems->Add(AddCoreState(experiment, need, *network, plan));
      networks.push_back(*std::move(network));
    }
  }
  return networks;
}

// The plan, and in `problems` all that is wrong with it, without problems that depend on `wrong` sections.
absl::StatusOr<ExperimentPlan> MakePlan(const Experiment& experiment, const EnvironmentSpec& environment,
                                        const AlgorithmDefinitions& algorithms, const std::set<std::string>& wrong,
                                        FirstOfAll* problems) {
  ExperimentPlan plan;
  WAGGLE_ASSIGN_OR_RETURN(plan.algorithm, PlanAlgorithm(experiment, environment, algorithms));
  const auto right = [&wrong](std::initializer_list<const char*> sections) {
    return std::none_of(sections.begin(), sections.end(), [&](const char* name) { return wrong.count(name) > 0; });
  };
  const auto add = [&](std::initializer_list<const char*> sections, const absl::Status& status) {
    problems->Add(right(sections) ? status : absl::OkStatus());
  };
  add({"algorithm"}, CheckExploration(environment, plan.algorithm));
  add({"algorithm", "actor", "learner"}, CheckSynchronous(experiment, plan.algorithm));
  add({"algorithm", "learner", "replay"}, CheckPolicyLag(experiment, plan.algorithm));
  add({"algorithm", "experiment"}, CheckEvaluations(experiment, plan.algorithm));
  add({"algorithm", "experiment", "actor", "learner", "replay"}, CheckLockStep(experiment, plan.algorithm));
  add({"algorithm", "experiment", "actor", "learner"}, CheckInference(experiment, plan.algorithm));
  add({"algorithm", "network", "networks", "learner"}, CheckPushedGradients(experiment, plan.algorithm));
  FirstOfAll of_networks;
  plan.networks = PlanNetworks(experiment, environment, &plan.algorithm, &of_networks);
  add({"network", "networks"}, of_networks.status());
  add({"algorithm", "replay", "actor", "stop", "network", "networks"}, CheckImport(experiment, plan.algorithm));
  problems->Add(UniteSignatures(&plan.algorithm.tables));
  if (plan.algorithm.rows_per_version.has_value()) {
    // An actor writes an unroll of each lane at a time. Old unrolls thus leave whole requests out of a batch.
    for (TablePlan& table : plan.algorithm.tables) {
      table.parts = table.is_modules ? 1 : table.batch_size / std::gcd(table.batch_size, experiment.actor.lanes);
    }
  }
  add({"algorithm", "network", "networks", "actor", "learner"},
      CheckLearners(experiment, plan.algorithm, plan.networks));
  return plan;
}

}  // namespace

std::vector<const NetworkPlan*> ExperimentPlan::acting() const {
  std::vector<const NetworkPlan*> acting;
  for (size_t i = 0; i < networks.size(); ++i) {
    if (algorithm.networks[i].acts) {
      acting.push_back(&networks[i]);
    }
  }
  return acting;
}

uint64_t ExperimentPlan::acting_hash() const {
  const std::vector<const NetworkPlan*> plans = acting();
  return plans.size() == 1 ? plans[0]->hash : IdentityHash(plans);
}

absl::StatusOr<ExperimentPlan> PlanExperiment(const Experiment& experiment, const EnvironmentSpec& environment,
                                              const AlgorithmDefinitions& algorithms) {
  FirstOfAll problems;
  WAGGLE_ASSIGN_OR_RETURN(ExperimentPlan plan, MakePlan(experiment, environment, algorithms, {}, &problems));
  WAGGLE_RETURN_IF_ERROR(problems.status());
  return plan;
}

absl::Status CheckAgainstEnvironment(const Experiment& experiment, const EnvironmentSpec& environment,
                                     const AlgorithmDefinitions& algorithms, const std::set<std::string>& wrong) {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* definition, algorithms.Find(experiment.algorithm));
  // The rest is planned for spaces that the algorithm can take.
  WAGGLE_RETURN_IF_ERROR(CheckSpaces(experiment.algorithm, *definition, environment));
  FirstOfAll problems;
  const absl::StatusOr<ExperimentPlan> plan = MakePlan(experiment, environment, algorithms, wrong, &problems);
  if (!plan.ok()) {  // Wrong sections may be the reason.
    return wrong.empty() ? plan.status() : absl::OkStatus();
  }
  for (const TablePlan& table : plan->algorithm.tables) {
    if (wrong.empty()) {
      problems.Add(CheckTable(experiment, table));
    }
  }
  return problems.status();
}

}  // namespace waggle
