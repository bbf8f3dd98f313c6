#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "common/base/metrics/order_figures.h"
#include "common/config/experiment/experiment.h"
#include "param_server/metrics/recording.h"
#include "param_server/models/model_store.h"
#include "param_server/models/weights_folder.h"
#include "param_server/run/cut_folder.h"
#include "param_server/run/hub.h"
#include "param_server/run/hub_state.h"
#include "param_server/services/run_services.h"

namespace waggle {

struct OpenRunOptions {
  std::string experiment_id;
  std::string folder;         // For the run's state and weights.
  std::string output_folder;  // For its figures, experiment.yaml, summary.json and curves.png.
  RunPlan plan;
  WorkerIntroduction self;                            // This process, which is shown among the run's workers.
  std::function<void(const std::string& text)> note;  // See HubOptions.
  // A run that is over goes on.
  bool resume = false;
  OrderFigures* figures = nullptr;  // See ExperimentHostOptions, as the next one.
  std::function<void(const std::string& run_folder, const std::string& log)> draw_curves;
};

// The open parts of a running experiment: its state, weights, hub, and the thread that records its figures.
class OpenRun {
 public:
  // Reads the saved state and goes on from it. An error names the file that cannot be read or written.
  static absl::StatusOr<std::shared_ptr<OpenRun>> Open(OpenRunOptions options);
  // Saves all changes: waits for the disk.
  ~OpenRun();
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;

  Hub* hub() { return hub_.get(); }
  // True if the run has gone back to a cut: workers of before have no part in it.
  bool returned() const { return returned_; }
  // The run has begun, and need not go back again when it is next opened.
  absl::Status EndReturn() const { return returned_ ? cuts_->EndReturn() : absl::OkStatus(); }
  // Keeps the run alive.
  static std::shared_ptr<RunServices> Services(const std::shared_ptr<OpenRun>& run) {
    return std::shared_ptr<RunServices>(run, &run->services_);
  }
  // Ends waiting calls. The destructor draws the curves of a run that is `over`; else it goes on with the next hub.
  void Close(bool over = false);

 private:
  OpenRun() = default;

  std::string folder_;
  std::string output_folder_;
  bool over_ = false;
  bool returned_ = false;
  std::function<void(const std::string& run_folder, const std::string& log)> draw_curves_;
  // Each uses only members above it.
  Metrics metrics_;
  std::unique_ptr<OrderFigures::Attachment> exported_;
  std::unique_ptr<HubState> state_;
  std::unique_ptr<WeightsFolder> newest_;
  std::unique_ptr<WeightsFolder> best_;
  std::unique_ptr<ModelStore> models_;
  std::unique_ptr<CutFolder> cuts_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Recording> recording_;
  RunServices services_;
};

// `yaml`: the experiment's complete text, without later settings.
RunPlan PlanRun(const Experiment& experiment, const std::string& yaml);

}  // namespace waggle
