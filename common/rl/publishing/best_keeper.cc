#include "common/rl/publishing/best_keeper.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"

namespace waggle {

absl::Status KeepBest(const Assignment& over, const std::string& output_dir, ModelSubscriber* subscriber) {
  if (!over.result.has_value()) {
    return absl::OkStatus();
  }
  // Ignores stops: the process may have to end with the run.
  WAGGLE_ASSIGN_OR_RETURN(std::optional<ModelSnapshot> best, subscriber->PullBest(StopToken()));
  if (!best.has_value()) {
    return absl::OkStatus();
  }
  const std::string folder = absl::StrCat(output_dir, "/", kBestFolder);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::Open(folder, /*keep=*/1));
  const ModelVersion version = best->version;
  WAGGLE_RETURN_IF_ERROR(WriteSavedModel({*std::move(best), over.experiment_yaml}, store.get()));
  LogInfo("the best weights, of step ", version.version, ", are in ", folder);
  return absl::OkStatus();
}

absl::Status EndTraining(const absl::StatusOr<std::string>& model, const std::string& output_dir, HubLink* hub,
                         Metrics* metrics,
                         const std::function<std::unique_ptr<ModelSubscriber>(const std::string&)>& new_subscriber) {
  if (model.ok()) {
    const Assignment assignment = hub->assignment();
    if (!output_dir.empty() && IsOver(assignment.run_state)) {
      const absl::Status kept = KeepBest(assignment, output_dir, new_subscriber(*model).get());
      if (!kept.ok()) {
        LogWarning("the best weights are not in ", output_dir, ": ", kept.message());
      }
    }
  } else if (absl::IsCancelled(model.status()) && hub->training_over().StopRequested()) {
    metrics->SetActivity("done");
    hub->run_over().Wait();
  }
  return WorkResult(model.status(), hub);
}

}  // namespace waggle
