#include "learner/group/all_reduce_stepper.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/base/status_macros.h"
#include "tests/learner/group/members.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::ActTogether;
using testing::TraineeOf;

constexpr int64_t kRows = 8;
constexpr uint64_t kUpdates = 100;

// Items with equal probabilities: importance weights are relative to the least likely item of a batch, and so of each
// learner's batch.
TensorBatch Batch(const EnvironmentSpec& environment, uint64_t update, uint64_t rank) {
  TensorBatch batch = testing::RandomTransitions(environment, kRows, 2 * update + rank, torch::kFloat32);
  batch.fields[kItemProbability].fill_(1e-3);
  return batch;
}

// The rows of both batches.
TensorBatch Union(const TensorBatch& first, const TensorBatch& second) {
  TensorBatch all = first;
  all.size = first.size + second.size;
  for (auto& [name, field] : all.fields) {
    field = torch::cat({field, second.at(name)});
  }
  return all;
}

double LargestDifference(AlgorithmTrainee* a, AlgorithmTrainee* b, const std::vector<std::string>& networks) {
  double largest = 0;
  for (const std::string& name : networks) {
    largest = std::max(
        largest,
        (a->model().net(name).group()->values() - b->model().net(name).group()->values()).abs().max().item<double>());
  }
  return largest;
}

TEST_CASE("a hundred updates of two learners equal those of one with twice the batch", "[grpc]") {
  torch::set_num_threads(1);
  struct Case {
    std::string algorithm;
    SpaceLeaf action;
    std::vector<std::string> networks;
  };
  const Case tried = GENERATE(Case{"name: ddpg", Box("action", DType::kFloat32, {2}, -1, 1), {"actor", "critic"}},
                              Case{"name: apex_dqn", Discrete("action", 3), {"q"}});
  INFO(tried.algorithm);
  const EnvironmentSpec environment = testing::EnvironmentOf(3, tried.action);
  const auto make = [&] {
    const std::string network = "{torso: [{type: mlp, units: [32], activation: tanh}]}";
    std::vector<std::string> parts;
    for (const std::string& name : tried.networks) {
      parts.push_back(name + ": " + network);
    }
    return testing::TraineeOn("{" + absl::StrJoin(parts, ", ") + "}", tried.algorithm, environment, torch::kFloat32,
                              /*seed=*/1);
  };
  std::vector<std::vector<TensorBatch>> batches(2);
  for (uint64_t update = 0; update < kUpdates; ++update) {
    for (uint64_t rank = 0; rank < 2; ++rank) {
      batches[rank].push_back(Batch(environment, update, rank));
    }
  }
  const auto alone = make();
  const auto start = make();
  LocalStepper local;
  for (uint64_t update = 0; update < kUpdates; ++update) {
    REQUIRE_OK(alone->Update(Union(batches[0][update], batches[1][update]), Progress(), &local));
  }
  const std::vector<std::unique_ptr<AlgorithmTrainee>> together = [&] {
    std::vector<std::unique_ptr<AlgorithmTrainee>> made;
    made.push_back(make());
    made.push_back(make());
    return made;
  }();
  const auto results = ActTogether(2, [&](int rank, Collective* collective) -> absl::Status {
    const auto at = static_cast<size_t>(rank);
    LocalStepper own;
    AllReduceStepper stepper([collective](const torch::Tensor& tensor) { return collective->Average(tensor); }, &own);
    for (const TensorBatch& batch : batches[at]) {
      WAGGLE_RETURN_IF_ERROR(together[at]->Update(batch, Progress(), &stepper).status());
    }
    return absl::OkStatus();
  });
  REQUIRE_OK(results[0]);
  REQUIRE_OK(results[1]);
  const double difference = LargestDifference(alone.get(), together[0].get(), tried.networks);
  CAPTURE(difference);
  CHECK(difference < 1e-5);
  CHECK(LargestDifference(together[0].get(), together[1].get(), tried.networks) == 0);
  CHECK(LargestDifference(alone.get(), start.get(), tried.networks) > 1e-2);
}

}  // namespace
}  // namespace waggle
