#include "learner/group/pushed_steps.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "learner/group/all_reduce_stepper.h"
#include "tests/learner/group/members.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::ActTogether;

constexpr int64_t kRows = 8;
constexpr uint64_t kUpdates = 20;

// Steps by pushed gradients alone.
class Pushes : public Stepper {
 public:
  explicit Pushes(PushedSteps* steps) : steps_(steps) {}
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override {
    steps_->SetProgress(progress);
    WAGGLE_RETURN_IF_ERROR(steps_->Step(group));
    return true;
  }

 private:
  PushedSteps* const steps_;
};

struct Learners {
  explicit Learners(const std::string& algorithm) {
    environment = testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
    for (int rank = 0; rank < 2; ++rank) {
      trainees.push_back(testing::TraineeOf(algorithm, environment, torch::kFloat32));
    }
    for (uint64_t seed = 0; seed < 2 * kUpdates; ++seed) {  // Here, as threads share LibTorch's generator.
      batches.push_back(testing::RandomTransitions(environment, kRows, seed, torch::kFloat32));
    }
  }
  const TensorBatch& Batch(uint64_t update, int rank) const { return batches[2 * update + static_cast<size_t>(rank)]; }
  AlgorithmTrainee* trainee(int rank) const { return trainees[static_cast<size_t>(rank)].get(); }

  EnvironmentSpec environment;
  std::vector<std::unique_ptr<AlgorithmTrainee>> trainees;
  std::vector<TensorBatch> batches;  // Both learners' of each update.
};

double LargestDifference(const AlgorithmTrainee& a, const AlgorithmTrainee& b) {
  const std::vector<ParameterGroup*> ours = a.groups();
  const std::vector<ParameterGroup*> theirs = b.groups();
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, (ours[i]->values() - theirs[i]->values()).abs().max().item<double>());
  }
  return largest;
}

GradientServerOptions Batches(int64_t gradients) {
  GradientServerOptions options;
  options.primary_batch = gradients;
  options.flush_seconds = 60;
  return options;
}

TEST_CASE("two learners that wait for each other's gradients step as by the mean over a group", "[grpc]") {
  torch::set_num_threads(1);
  // Targets, delayed steps, and learned scalars.
  const std::string algorithm = GENERATE(as<std::string>(), "name: ddpg", "name: td3", "name: sac");
  INFO(algorithm);
  const Learners reduced(algorithm);
  const auto averaged = ActTogether(2, [&](int rank, Collective* collective) -> absl::Status {
    LocalStepper own;
    AllReduceStepper stepper([collective](const torch::Tensor& tensor) { return collective->Average(tensor); }, &own);
    for (uint64_t update = 0; update < kUpdates; ++update) {
      WAGGLE_RETURN_IF_ERROR(reduced.trainee(rank)->Update(reduced.Batch(update, rank), Progress(), &stepper).status());
    }
    return absl::OkStatus();
  });
  REQUIRE_OK(averaged[0]);
  REQUIRE_OK(averaged[1]);

  const Learners pushed(algorithm);
  Metrics metrics;
  const StopToken abandoned;
  StopToken done;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        PushedSteps steps(Batches(2), rank, 2, collective, pushed.trainee(rank)->groups(), &metrics);
        Pushes stepper(&steps);
        absl::Status status;
        for (uint64_t update = 0; update < kUpdates && status.ok(); ++update) {
          status = pushed.trainee(rank)
                       ->Update(pushed.Batch(update, rank), {0, static_cast<int64_t>(update), 0}, &stepper)
                       .status();
        }
        if (rank == 1) {
          CHECK(steps.learner_steps() >= static_cast<int64_t>(kUpdates) - 1);
          abandoned.RequestStop();
          done.RequestStop();
        }
        done.Wait();  // The first serves the other until then.
        return status;
      },
      abandoned);
  REQUIRE_OK(results[0]);
  REQUIRE_OK(results[1]);
  CHECK(LargestDifference(*pushed.trainee(0), *pushed.trainee(1)) == 0);
  CHECK(LargestDifference(*pushed.trainee(0), *reduced.trainee(0)) < 1e-6);
  const auto counters = metrics.TakeSnapshot().counters;
  CHECK(counters.at("gradients_pushed") > 0);
  CHECK(counters.at("gradients_applied") == counters.at("gradients_pushed"));
}

TEST_CASE("a learner that does not wait for others learns while they do nothing, and its gradients make steps of all",
          "[grpc]") {
  torch::set_num_threads(1);
  const Learners learners("name: td3");
  Metrics metrics;
  const StopToken abandoned;
  StopToken done;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        AlgorithmTrainee* const trainee = learners.trainee(rank);
        PushedSteps steps(Batches(1), rank, 2, collective, trainee->groups(), &metrics);
        Pushes stepper(&steps);
        absl::Status status;
        if (rank == 1) {
          for (uint64_t update = 0; update < kUpdates && status.ok(); ++update) {
            status = trainee->Update(learners.Batch(update, rank), Progress(), &stepper).status();
          }
          done.RequestStop();
          return status;
        }
        steps.SetProgress(Progress());
        done.Wait();
        status = steps.WithNewest([&] {
          CHECK(LargestDifference(*trainee, *learners.trainee(1)) == 0);
          return absl::OkStatus();
        });
        abandoned.RequestStop();
        return status;
      },
      abandoned);
  REQUIRE_OK(results[0]);
  REQUIRE_OK(results[1]);
}

TEST_CASE("a gradient that is not finite is an error at its learner", "[grpc]") {
  const Learners learners("name: ddpg");
  Metrics metrics;
  PushedSteps steps(Batches(1), /*rank=*/0, /*size=*/1, /*collective=*/nullptr, learners.trainee(0)->groups(),
                    &metrics);
  steps.SetProgress(Progress());
  ParameterGroup* const group = learners.trainee(0)->groups()[0];
  torch::Tensor gradients = group->gradients();
  gradients.fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(steps.Step(group).code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
