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
  int64_t counted = 0;  // The first learner's steps, as the other knows them.
  const StopToken abandoned;
  StopToken done;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        PushedSteps steps(Batches(2), rank, 2, collective, pushed.trainee(rank)->groups(), &metrics, abandoned);
        Pushes stepper(&steps);
        absl::Status status;
        for (uint64_t update = 0; update < kUpdates && status.ok(); ++update) {
          status = pushed.trainee(rank)
                       ->Update(pushed.Batch(update, rank), {0, static_cast<int64_t>(update), 0}, &stepper)
                       .status();
        }
        if (rank == 1) {
          counted = steps.learner_steps();
          abandoned.RequestStop();
          done.RequestStop();
        }
        done.Wait();  // The first serves the other until then.
        return status;
      },
      abandoned);
  REQUIRE_OK(results[0]);
  REQUIRE_OK(results[1]);
  CHECK(counted == static_cast<int64_t>(kUpdates) - 1);
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
  double difference = -1;
  const StopToken abandoned;
  StopToken done;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        AlgorithmTrainee* const trainee = learners.trainee(rank);
        PushedSteps steps(Batches(1), rank, 2, collective, trainee->groups(), &metrics, abandoned);
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
          difference = LargestDifference(*trainee, *learners.trainee(1));
          return absl::OkStatus();
        });
        abandoned.RequestStop();
        return status;
      },
      abandoned);
  REQUIRE_OK(results[0]);
  REQUIRE_OK(results[1]);
  CHECK(difference == 0);
}

// The first of one learner, which steps from each gradient that is at most one step old.
struct Alone {
  Alone() : steps(Options(), /*rank=*/0, /*size=*/1, /*collective=*/nullptr, groups(), &metrics, abandoned) {
    steps.SetProgress(Progress());
  }
  static GradientServerOptions Options() {
    GradientServerOptions options = Batches(1);
    options.max_staleness = 0;
    return options;
  }
  std::vector<ParameterGroup*> groups() const { return learners.trainee(0)->groups(); }

  const Learners learners{"name: ddpg"};
  Metrics metrics;
  const StopToken abandoned;
  PushedSteps steps;
};

TEST_CASE("values that were copied between two pushes count as new", "[grpc]") {
  Alone alone;
  for (int push = 0; push < 2; ++push) {
    alone.groups()[0]->gradients().fill_(1);
    REQUIRE_OK(alone.steps.Step(alone.groups()[0]));
    REQUIRE_OK(alone.steps.WithNewest([] { return absl::OkStatus(); }));
  }
  CHECK(alone.steps.GradientNorm(alone.groups()[0]->name()).item<double>() > 0);
  CHECK_FALSE(alone.steps.GradientNorm(alone.groups()[1]->name()).defined());
  CHECK(alone.metrics.TakeSnapshot().counters.at("gradients_applied") == 2);
}

TEST_CASE("the first learner, which waits for others' gradients, stops once the group is abandoned", "[grpc]") {
  const Learners learners("name: ddpg");
  Metrics metrics;
  const StopToken abandoned;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        if (rank == 1) {  // It never pushes.
          abandoned.RequestStop();
          return absl::OkStatus();
        }
        const std::vector<ParameterGroup*> groups = learners.trainee(0)->groups();
        PushedSteps steps(Batches(2), rank, 2, collective, groups, &metrics, abandoned);
        steps.SetProgress(Progress());
        return steps.Step(groups[0]);
      },
      abandoned);
  CHECK(results[0].code() == absl::StatusCode::kAborted);
}

TEST_CASE("a gradient that is not finite is an error at its learner", "[grpc]") {
  Alone alone;
  alone.groups()[0]->gradients().fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(alone.steps.Step(alone.groups()[0]).code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
