#include "cli/check/check_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "common/base/status_macros.h"
#include "common/table_config/batch_layout.h"

namespace waggle {
namespace {

constexpr size_t kMaxBatchBytes = size_t{1} << 40;  // No limit of ours: an estimate of too much is what is wanted.
absl::StatusOr<std::string> TableEstimate(const TablePlan& plan, const LearnerOptions& learner, int64_t servers) {
  const TableConfig& table = plan.table;
  WAGGLE_ASSIGN_OR_RETURN(const BatchLayout batch, MakeBatchLayout(table, learner.batch_size, kMaxBatchBytes));
  const double batches = static_cast<double>(batch.total_bytes) * static_cast<double>(learner.prefetch_batches + 1);
  std::string text =
      absl::StrFormat("# table %s: %d items of up to %d rows, %d bytes a row: about %s", table.name, table.max_items,
                      table.max_window, BytesARow(table.signature), ShortBytes(EstimateTableBytes(plan)));
  absl::StrAppend(&text, servers == 1 ? " on the replay server\n" : absl::StrCat(" on ", servers, " replay servers\n"));
  absl::StrAppend(&text, "#   batches: ", learner.batch_size, " items, ", batch.total_bytes, " bytes each; ",
                  ShortBytes(batches), " with those asked for ahead, on the learner\n");
  return text;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

absl::StatusOr<std::string> EstimateText(const Experiment& experiment, const EnvironmentSpec& environment,
                                         const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const NetworkShape shape, InferShapes(experiment.network, environment.observations[0].array,
                                                                NumOutputs(environment.actions[0])));
  std::string text = absl::StrCat("# environment: ", environment.DebugString(), "\n# network:");
  for (const std::vector<int64_t>& activation : shape.activations) {
    absl::StrAppend(&text, " ", ShapeText(activation));
  }
  absl::StrAppend(&text, ", ", shape.num_parameters, " parameters, ",
                  ShortBytes(static_cast<double>(shape.num_parameters) * sizeof(float)), " a publication\n");
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<TablePlan> plans, PlanTables(experiment, environment, algorithms));
  for (const TablePlan& plan : plans) {
    WAGGLE_ASSIGN_OR_RETURN(const std::string table,
                            TableEstimate(plan, experiment.learner, experiment.replay.servers));
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
      "# memory that each process needs at most, about; without the environments' own and the libraries that all "
      "share:\n",
      AlignedColumns(rows, "#   "));
}

}  // namespace waggle
