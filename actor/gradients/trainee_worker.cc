#include "actor/gradients/trainee_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actor/gradients/unroll_batch.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/nn/torch_compat.h"
#include "common/rl/kit/stepper.h"
#include "common/rl/training/metric_means.h"
#include "common/rl/training/trainee.h"

namespace waggle {
namespace {

constexpr absl::Duration kReportPeriod = absl::Seconds(1);

// Pushes each gradient and changes no weights: newer weights are pulled.
class PushStepper final : public Stepper {
 public:
  explicit PushStepper(GradientSink* sink) : sink_(sink) {}

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& /*progress*/) override {
    WAGGLE_ASSIGN_OR_RETURN(const torch::Tensor numbers, CatchTorch("copying a gradient", [&] {
                              return group->gradients().to(torch::kCPU, torch::kFloat32, /*non_blocking=*/false,
                                                           /*copy=*/true);
                            }));
    // The last reader of the numbers frees the tensor.
    const auto owner = std::make_shared<torch::Tensor>(numbers);
    WAGGLE_RETURN_IF_ERROR(sink_->Push(std::shared_ptr<const float>(owner, numbers.data_ptr<float>()), based_on, stop));
    return false;
  }

  // The version that following gradients are based on.
  ModelVersion based_on;
  StopToken stop;

 private:
  GradientSink* const sink_;
};

class TraineeWorker final : public GradientWorker {
 public:
  TraineeWorker(std::unique_ptr<AlgorithmTrainee> trainee, torch::Device device, GradientSink* sink, Metrics* metrics)
      : trainee_(std::move(trainee)), device_(device), sink_(sink), metrics_(metrics), stepper_(sink) {}

  absl::StatusOr<ModelSnapshot> FirstWeights() override { return trainee_->Publish(); }

  absl::Status LoadWeights(const ModelSnapshot& snapshot) override {
    WAGGLE_RETURN_IF_ERROR(trainee_->LoadPublished(snapshot));
    stepper_.based_on = snapshot.version;
    progress_ = snapshot.progress;
    return absl::OkStatus();
  }

  absl::Status Set(const std::string& settings) override { return trainee_->Set(settings).status(); }

  absl::Status Append(InsertBlock block, const StopToken& stop) override {
    const TablePlan& table = trainee_->plan().algorithm.tables[0];
    if (block.items.empty()) {
      return absl::OkStatus();  // An unroll cut short by the run's end.
    }
    WAGGLE_ASSIGN_OR_RETURN(const TensorBatch batch, UnrollBatch(block, table, device_));
    stepper_.stop = stop;
    WAGGLE_ASSIGN_OR_RETURN(const UpdateResult result, trainee_->Update(batch, progress_, &stepper_));
    WAGGLE_RETURN_IF_ERROR(means_.Add(result.metrics));
    metrics_->Add("items_learned", static_cast<double>(batch.size));
    return Report();
  }

  absl::Status Flush(absl::Duration timeout) override { return sink_->Flush(timeout, StopToken()); }
  Stats stats() const override { return {}; }

 private:
  absl::Status Report() {
    const absl::Time now = SteadyNow();
    if (now - reported_at_ < kReportPeriod) {
      return absl::OkStatus();
    }
    reported_at_ = now;
    WAGGLE_ASSIGN_OR_RETURN(const auto means, means_.Take());
    for (const auto& [name, mean] : means) {
      metrics_->Set(absl::StrCat("algorithm/", name), mean, 2 * kReportPeriod);
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<AlgorithmTrainee> trainee_;
  const torch::Device device_;
  GradientSink* const sink_;
  Metrics* const metrics_;
  PushStepper stepper_;
  Progress progress_;
  MetricMeans means_;
  absl::Time reported_at_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GradientWorker>> NewTraineeWorker(
    const Experiment& experiment, const EnvironmentSpec& environment, const AlgorithmDefinitions& definitions,
    const AlgorithmImplementations& implementations, torch::Device device, GradientSink* sink, Metrics* metrics) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<AlgorithmTrainee> trainee,
                          AlgorithmTrainee::Create(experiment, environment, definitions, implementations, device));
  return std::make_unique<TraineeWorker>(std::move(trainee), device, sink, metrics);
}

}  // namespace waggle
