#include "cli/check/check_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/table/batch_layout.h"

namespace waggle {
namespace {

// Our own bound only: the estimate must work for batches that are too large.
constexpr size_t kMaxBatchBytes = size_t{1} << 40;

absl::StatusOr<std::string> TableEstimate(const TablePlan& plan, const LearnerOptions& learner, int64_t servers) {
  const TableConfig& table = plan.table;
  WAGGLE_ASSIGN_OR_RETURN(const BatchLayout batch, MakeBatchLayout(table, plan.batch_size, kMaxBatchBytes));
  const double batches = static_cast<double>(batch.total_bytes) * static_cast<double>(learner.prefetch_batches + 1);
  std::string text =
      absl::StrFormat("# table %s: %d items of up to %d rows, %d bytes a row: about %s", table.name, table.max_items,
                      table.max_window, BytesARow(table.signature), ShortBytes(EstimateTableBytes(plan)));
  absl::StrAppend(&text, servers == 1 ? " on the replay server\n" : absl::StrCat(" on ", servers, " replay servers\n"));
  absl::StrAppend(&text, "#   batches: ", plan.batch_size, " items, ", batch.total_bytes, " bytes each; ",
                  ShortBytes(batches), " with those asked for ahead, on the learner\n");
  return text;
}

// The shapes that a row takes from layer to layer.
std::string LayersText(const std::vector<LayerPlan>& layers) {
  std::string text;
  for (const LayerPlan& layer : layers) {
    absl::StrAppend(&text, " [", absl::StrJoin(layer.output_shape, ", "), "]");
  }
  return text;
}

std::string NetworkText(const NetworkNeed& need, const NetworkPlan& network) {
  std::string text = absl::StrCat("# network ", network.name, ":");
  for (const EncoderPlan& encoder : network.trunks[0].encoders) {
    absl::StrAppend(&text, " ", encoder.array.DebugString(), LayersText(encoder.layers), ";");
  }
  absl::StrAppend(&text, LayersText(network.trunks[0].torso));
  if (const std::vector<CorePlan>& cores = network.trunks[0].cores; !cores.empty()) {
    absl::StrAppend(&text, cores[0].kind == CorePlan::Kind::kLstm ? " lstm [" : " gru [", cores[0].units, "]");
  }
  for (const HeadPlan& head : network.heads) {
    absl::StrAppend(&text, "; ", head.name, LayersText(head.layers));
  }
  if (network.members.has_value()) {
    absl::StrAppend(&text, "; ", *network.members, " members");
  }
  absl::StrAppend(&text, "; ", network.num_parameters, " parameters", need.has_target ? " and a target" : "",
                  need.learns ? "" : ", not learned");
  if (need.acts) {
    absl::StrAppend(&text, ", ", ShortBytes(static_cast<double>(network.num_parameters) * sizeof(float)),
                    " a publication");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace

absl::StatusOr<std::string> EstimateText(const Experiment& experiment, const EnvironmentSpec& environment,
                                         const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, environment, algorithms));
  std::string text = absl::StrCat("# environment: ", environment.DebugString(), "\n");
  for (size_t i = 0; i < plan.networks.size(); ++i) {
    absl::StrAppend(&text, NetworkText(plan.algorithm.networks[i], plan.networks[i]));
  }
  for (const TablePlan& table_plan : plan.algorithm.tables) {
    WAGGLE_ASSIGN_OR_RETURN(const std::string table,
                            TableEstimate(table_plan, experiment.learner, experiment.replay.servers));
    absl::StrAppend(&text, table);
  }
  const int64_t unacknowledged = experiment.actor.max_unacknowledged_mebibytes;
  absl::StrAppend(&text, "# an actor holds at most ", unacknowledged, " MiB that no replay server has acknowledged");
  if (experiment.replay.servers > 1) {
    absl::StrAppend(&text, "; while servers are lost, at most ", unacknowledged * experiment.replay.servers);
  }
  absl::StrAppend(&text, "\n");
  return text;
}

std::string TrialText(const EnvironmentTrial& trial) {
  std::string text = absl::StrFormat("# one lane of the environment was reset in %.3g s and took %.3g steps a second\n",
                                     trial.reset_seconds, trial.steps_per_second);
  for (const std::string& outside : trial.outside) {
    absl::StrAppend(&text, "# the environment leaves its declared space: ", outside, "\n");
  }
  return text;
}

std::string MemoryText(const std::vector<ProcessMemory>& processes, int64_t machine_bytes) {
  std::vector<std::vector<std::string>> rows;
  double sum = 0;
  for (const ProcessMemory& memory : processes) {
    sum += memory.Bytes() * static_cast<double>(memory.processes);
    std::vector<std::string> parts;
    for (const MemoryPart& part : memory.parts) {
      parts.push_back(absl::StrCat(part.name, " ", ShortBytes(part.bytes)));
    }
    if (!memory.device.empty()) {
      parts.push_back(absl::StrCat("and ", ShortBytes(memory.device_bytes), " on ", memory.device));
    }
    rows.push_back(
        {absl::StrCat(memory.processes > 1 ? absl::StrCat(memory.processes, " x ") : "", RoleName(memory.role)),
         ShortBytes(memory.Bytes()), absl::StrJoin(parts, ", ")});
  }
  rows.push_back({"together", ShortBytes(sum),
                  absl::StrCat("of the ", ShortBytes(static_cast<double>(machine_bytes)),
                               " that this machine, or its control group, has")});
  return absl::StrCat(
      "# memory that each process needs at most, about; without the environments' own and the shared libraries:\n",
      AlignedColumns(rows, "#   "));
}

}  // namespace waggle
