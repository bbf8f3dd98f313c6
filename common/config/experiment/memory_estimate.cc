#include "common/config/experiment/memory_estimate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/table/batch_layout.h"

namespace waggle {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr size_t kMaxBatchBytes = size_t{1} << 40;  // No real limit: estimates of too much are wanted too.

// A process's own memory, as measured.
constexpr double kTorchProgramBytes = 64 * kMebibyte;
constexpr double kHubProgramBytes = 8 * kMebibyte;
constexpr double kReplayProgramBytes = 16 * kMebibyte;
// A server's own record of an item (its window, key, generation, priority and place in the sampler), as measured.
constexpr double kItemBytes = 48;

// Copies of the weights at the peak. An actor: its network, the weights that it takes over, those that it copies them
// from, and the next ones.
constexpr double kActorParameters = 1;
constexpr double kActorWeights = 3;
// A learner: the weights being published, and the next ones.
constexpr double kPublishedWeights = 2;
// The hub: the newest, those that come in, the best, those of an evaluation that is going on, and two older ones on
// their way out.
constexpr double kHubWeights = 6;

// A layer's values: before and after its activation, and the gradient.
constexpr double kLearnerActivations = 3;
constexpr double kActorActivations = 2;

// The sizes that the estimates need.
struct Sizes {
  double weights = 0;  // Bytes of the parameters of the network that acts.
  // Bytes of the values, input included, that all networks, and the acting one, compute for one row of observations.
  double row_values = 0;
  double acting_row_values = 0;
  double gradients = 0;           // Bytes of the gradients of all networks.
  double learner_parameters = 0;  // Bytes of a learner's arrays of that size, and of a checkpoint's.
  double checkpoint = 0;
  double observation = 0;     // Bytes of all observations of a step.
  double batches = 0;         // Bytes of one batch of each table.
  double kept_batches = 0;    // Bytes of those that the algorithm keeps.
  double batch_rows = 0;      // Rows of observations in these.
  double tables = 0;          // Bytes, on all servers together.
  double unacknowledged = 0;  // Bytes of rows that an actor holds for one server.
};

// Arrays of the size of a network's parameters that a learner keeps for the network and its optimizer: all, and those
// in a checkpoint.
struct LearnerArrays {
  double all = 0;
  double saved = 0;
};

LearnerArrays CountArrays(const NetworkNeed& need) {
  const double targets = need.has_target ? 1 : 0;
  if (!need.learns) {
    return {1 + targets, 1 + targets};
  }
  auto state = static_cast<double>(need.optimizer.StateArrays());
  for (const auto& [name, optimizer] : need.more_optimizers) {
    state += static_cast<double>(optimizer.StateArrays());
  }
  return {2 + targets + state, 1 + targets + state};
}

// Rows of this observation that an item has in a batch.
double ObservationRows(const TableConfig& table, const ArraySpec& observation) {
  double rows = 0;
  for (const ViewField& field : table.view) {
    if (field.column == observation.name) {
      rows += field.rows == ViewField::Rows::kAll ? static_cast<double>(table.SampledRows()) : 1;
    }
  }
  return rows;
}

absl::StatusOr<Sizes> SizesOf(const Experiment& experiment, const EnvironmentSpec& environment,
                              const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, environment, algorithms));
  const std::vector<TablePlan>& plans = plan.algorithm.tables;
  const ActorOptions& actor = experiment.actor;
  Sizes sizes;
  for (size_t i = 0; i < plan.networks.size(); ++i) {
    const NetworkPlan& network = plan.networks[i];
    const LearnerArrays arrays = CountArrays(plan.algorithm.networks[i]);
    const double bytes = static_cast<double>(network.num_parameters) * sizeof(float);
    sizes.learner_parameters += arrays.all * bytes;
    sizes.checkpoint += arrays.saved * bytes;
    sizes.gradients += plan.algorithm.networks[i].learns ? bytes : 0;
    sizes.row_values += static_cast<double>(network.row_values) * sizeof(float);
  }
  for (const NetworkPlan* const acting : plan.acting()) {
    sizes.weights += static_cast<double>(acting->num_parameters) * sizeof(float);
    sizes.acting_row_values += static_cast<double>(acting->row_values) * sizeof(float);
  }
  const ArraySpec& observation = environment.observations[0].array;
  sizes.observation = static_cast<double>(BytesARow(ArraysOf(environment.observations)));
  for (const TablePlan& table : plans) {
    WAGGLE_ASSIGN_OR_RETURN(const BatchLayout batch, MakeBatchLayout(table.table, table.batch_size, kMaxBatchBytes));
    sizes.batches += static_cast<double>(batch.total_bytes);
    sizes.batch_rows += static_cast<double>(table.batch_size) * ObservationRows(table.table, observation);
    sizes.tables += EstimateTableBytes(table);
  }
  sizes.kept_batches = sizes.batches * static_cast<double>(plan.algorithm.kept_batches);
  sizes.checkpoint += sizes.kept_batches;
  if (!plans.empty()) {  // All tables' rows are the same.
    const double block = static_cast<double>(BytesARow(plans[0].table.signature)) * static_cast<double>(actor.lanes) *
                         static_cast<double>(actor.chunk_rows);
    // One more is being filled.
    sizes.unacknowledged = std::min(block * static_cast<double>(actor.max_unacknowledged_blocks + 1),
                                    block + static_cast<double>(actor.max_unacknowledged_mebibytes) * kMebibyte);
  }
  return sizes;
}

// On an accelerator, parameters and activations are in its own memory.
void AddComputing(const std::string& device, double parameters, double activations, ProcessMemory* memory) {
  if (device == "cpu") {
    memory->parts.push_back({"parameters", parameters});
    memory->parts.push_back({"activations", activations});
  } else {
    memory->device = device;
    memory->device_bytes = parameters + activations;
  }
}

ProcessMemory LearnerMemory(const LearnerOptions& learner, const Sizes& sizes) {
  ProcessMemory memory;
  memory.role = Role::kLearner;
  memory.parts = {{"program", kTorchProgramBytes}};
  const double host_batches = learner.device == "cpu" ? sizes.kept_batches : 0;
  AddComputing(learner.device, sizes.learner_parameters,
               sizes.batch_rows * sizes.row_values * kLearnerActivations + sizes.kept_batches - host_batches, &memory);
  memory.parts.push_back({"weights to publish", kPublishedWeights * sizes.weights});
  memory.parts.push_back({"checkpoint", sizes.checkpoint});
  if (learner.learners_push()) {
    // The first learner's: newest values, a sum, and a gradient of each other learner.
    memory.parts.push_back({"gradients", static_cast<double>(learner.processes + 1) * sizes.gradients});
  }
  memory.parts.push_back({"batches", sizes.batches * static_cast<double>(learner.prefetch_batches + 1) + host_batches});
  return memory;
}

// The bytes of gradients on their way, of so many that may come together.
double GradientBytes(const GradientServerOptions& server, int64_t actors, const Sizes& sizes) {
  return static_cast<double>(server.max_unacknowledged * actors) * sizes.weights;
}

// The primary steps in the learner's place.
ProcessMemory PrimaryMemory(const Experiment& experiment, const Sizes& sizes) {
  ProcessMemory memory;
  memory.role = Role::kLearner;
  memory.parts = {{"program", kHubProgramBytes},
                  {"parameters", sizes.learner_parameters},
                  {"weights to publish", kPublishedWeights * sizes.weights},
                  {"checkpoint", sizes.checkpoint},
                  {"gradients", GradientBytes(experiment.learner.gradient_server, experiment.actor.processes, sizes)}};
  return memory;
}

ProcessMemory ReducerMemory(const Experiment& experiment, const Sizes& sizes) {
  const GradientServerOptions& server = experiment.learner.gradient_server;
  ProcessMemory memory;
  memory.role = Role::kReducer;
  memory.processes = server.reducers;
  memory.parts = {{"program", kHubProgramBytes},
                  {"gradients", GradientBytes(server, experiment.actor.processes, sizes) /
                                    static_cast<double>(std::max<int64_t>(1, server.reducers))}};
  return memory;
}

// An actor's or an evaluator's memory, with this many environments. `opponents`: policies of self-play beside its own.
ProcessMemory ActingMemory(Role role, const std::string& device, int64_t lanes, int64_t opponents, const Sizes& sizes) {
  const auto rows = static_cast<double>(lanes);
  const auto policies = static_cast<double>(1 + opponents);
  ProcessMemory memory;
  memory.role = role;
  memory.parts = {{"program", kTorchProgramBytes}};
  AddComputing(device, kActorParameters * policies * sizes.weights, rows * sizes.acting_row_values * kActorActivations,
               &memory);
  memory.parts.push_back({"newer weights", kActorWeights * sizes.weights});
  memory.parts.push_back({"observations", (1 + policies) * rows * sizes.observation});
  return memory;
}

std::string Mebibytes(double bytes) {
  return absl::StrFormat("%.0f MiB", bytes / kMebibyte);
}

// The parts that are large enough to mention.
std::string PartsText(const ProcessMemory& memory) {
  std::vector<std::string> parts;
  for (const MemoryPart& part : memory.parts) {
    if (part.bytes >= kMebibyte) {
      parts.push_back(absl::StrCat(part.name, " ", Mebibytes(part.bytes)));
    }
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

double ProcessMemory::Bytes() const {
  double sum = 0;
  for (const MemoryPart& part : parts) {
    sum += part.bytes;
  }
  return sum;
}

double EstimateTableBytes(const TablePlan& plan) {
  const TableConfig& table = plan.table;
  // Windows of a sequence share the rows where they overlap, n-step windows all but one.
  const double rows_an_item =
      plan.window.kind == WindowPlan::Kind::kNStep ? 1
      : plan.window.kind == WindowPlan::Kind::kSequence || plan.window.kind == WindowPlan::Kind::kUnroll
          ? static_cast<double>(std::min(plan.window.period, plan.window.length))
          : static_cast<double>(plan.window.length);
  const auto items = static_cast<double>(table.max_items);
  double rows = std::min(items * rows_an_item * static_cast<double>(BytesARow(table.signature)),
                         static_cast<double>(table.max_bytes));
  if (table.memory_limit > 0) {  // The other rows are on the disk.
    rows = std::min(rows, static_cast<double>(table.memory_limit));
  }
  return rows + items * kItemBytes;
}

absl::StatusOr<std::vector<ProcessMemory>> EstimateMemory(const Experiment& experiment,
                                                          const EnvironmentSpec& environment,
                                                          const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(experiment, environment, algorithms));
  const auto servers = static_cast<double>(experiment.replay.servers);
  ProcessMemory hub;
  hub.role = Role::kParamServer;
  hub.parts = {{"program", kHubProgramBytes}, {"weights", kHubWeights * sizes.weights}};
  ProcessMemory replay;
  replay.role = Role::kReplayServer;
  replay.processes = experiment.replay.servers;
  replay.parts = {{"program", kReplayProgramBytes},
                  {"tables", sizes.tables / servers},
                  {"batches", sizes.batches * static_cast<double>(experiment.learner.prefetch_batches) / servers}};
  const ActorOptions& actor = experiment.actor;
  ProcessMemory acting = ActingMemory(Role::kActor, actor.device, actor.lanes,
                                      actor.self_play.has_value() ? actor.self_play->policies() : 0, sizes);
  acting.processes = actor.processes_started();
  // While a server is lost, an actor holds the rows for it.
  acting.parts.push_back({"rows to send", sizes.unacknowledged * servers});
  std::vector<ProcessMemory> processes = {std::move(hub)};
  if (experiment.learner.actors_push()) {
    processes.push_back(PrimaryMemory(experiment, sizes));
    if (experiment.learner.gradient_server.reducers > 0) {
      processes.push_back(ReducerMemory(experiment, sizes));
    }
  } else {
    processes.push_back(std::move(replay));
    processes.push_back(LearnerMemory(experiment.learner, sizes));
    processes.back().processes = experiment.learner.processes;
  }
  processes.push_back(std::move(acting));
  if (experiment.evaluation.enabled) {
    processes.push_back(
        ActingMemory(Role::kEvaluator, actor.device, experiment.evaluation.episodes, /*opponents=*/0, sizes));
  }
  return processes;
}

absl::Status CheckMemory(const std::vector<ProcessMemory>& processes, int64_t machine_bytes) {
  double sum = 0;
  double most = 0;
  for (const ProcessMemory& memory : processes) {
    sum += memory.Bytes() * static_cast<double>(memory.processes);
    most = std::max(most, memory.Bytes() * static_cast<double>(memory.processes));
  }
  if (sum <= static_cast<double>(machine_bytes)) {
    return absl::OkStatus();
  }
  std::vector<std::string> shares;
  for (const ProcessMemory& memory : processes) {
    const double bytes = memory.Bytes() * static_cast<double>(memory.processes);
    shares.push_back(absl::StrCat(memory.processes > 1 ? absl::StrCat(memory.processes, " x ") : "",
                                  RoleName(memory.role), " ", Mebibytes(memory.Bytes()),
                                  bytes == most ? absl::StrCat(" (", PartsText(memory), ")") : ""));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("about ", Mebibytes(sum), " of memory are needed, and this machine, or its control group, has ",
                   Mebibytes(static_cast<double>(machine_bytes)), ": ", absl::StrJoin(shares, ", ")));
}

absl::Status CheckOwnMemory(Role role, const Experiment& experiment, const EnvironmentSpec& environment,
                            const AlgorithmDefinitions& algorithms, int64_t machine_bytes) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ProcessMemory> processes,
                          EstimateMemory(experiment, environment, algorithms));
  const auto own = std::find_if(processes.begin(), processes.end(),
                                [role](const ProcessMemory& memory) { return memory.role == role; });
  if (own == processes.end()) {
    return absl::OkStatus();
  }
  ProcessMemory alone = *own;
  alone.processes = 1;
  return CheckMemory({alone}, machine_bytes);
}

}  // namespace waggle
