#include "learner/published_weights.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/rl/publishing/published_model.h"

namespace waggle {
namespace {

// Steps are counted in doubles too, which hold whole numbers up to this.
constexpr uint64_t kMaxStep = uint64_t{1} << 53;

}  // namespace

absl::StatusOr<std::optional<int64_t>> LoadPublishedWeights(ModelSubscriber* subscriber, const StopToken& stop,
                                                            Trainee* trainee) {
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<ModelSnapshot> newest, PullNewest(subscriber, stop));
  if (!newest.has_value()) {
    return std::optional<int64_t>();
  }
  const uint64_t step = newest->version.version;
  if (step > kMaxStep) {
    return absl::DataLossError(absl::StrCat("the newest weights: got step ", step, "; wanted at most ", kMaxStep));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(trainee->LoadPublished(*newest), "going on from the newest weights"));
  return std::optional<int64_t>(static_cast<int64_t>(step));
}

std::string NotPublished(const AlgorithmPlan& plan) {
  std::vector<std::string> parts;
  std::vector<std::string> optimized;
  for (const NetworkNeed& network : plan.networks) {
    if (!network.acts) {
      parts.push_back(absl::StrCat("the network ", network.name, network.has_target ? " and its target" : ""));
    }
    if (network.learns) {
      optimized.push_back(network.name);
    }
  }
  for (const ScalarNeed& scalar : plan.scalars) {
    parts.push_back(absl::StrCat("the scalar ", scalar.name));
    optimized.push_back(scalar.name);
  }
  parts.push_back(
      absl::StrCat(optimized.size() > 1 ? "the optimizers of " : "the optimizer of ", absl::StrJoin(optimized, ", ")));
  return absl::StrCat(absl::StrJoin(parts, "; "), "; counters, statistics of returns and random numbers");
}

}  // namespace waggle
