#include "common/rl/algorithms/dqn_policy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "common/rl/annealed.h"
#include "common/rl/epsilon_ladder.h"

namespace waggle {

DqnPolicy::DqnPolicy(const PolicyContext& context, const ApexDqnOptions& options, std::unique_ptr<Network> network,
                     torch::Tensor observations)
    : network_(std::move(network)),
      tape_(network_.get()),
      device_(context.device),
      observation_bytes_(observations.nbytes()),
      observations_(std::move(observations)),
      anneal_steps_(options.epsilon_anneal_steps),
      steps_(context.first_step),
      rng_(Rng::Split(context.seed, "epsilon", static_cast<uint64_t>(context.first_lane))) {
  for (int64_t lane = 0; lane < context.lanes; ++lane) {
    epsilons_.push_back(
        LadderEpsilon(options.epsilon_base, options.epsilon_alpha, context.first_lane + lane, context.all_lanes));
  }
}

absl::StatusOr<std::unique_ptr<Policy>> DqnPolicy::Create(const PolicyContext& context) {
  const auto* const options = dynamic_cast<const ApexDqnOptions*>(context.experiment->algorithm_options.get());
  if (options == nullptr) {
    return absl::InvalidArgumentError("apex_dqn was given the options of another algorithm");
  }
  const EnvironmentSpec& environment = context.environment;
  WAGGLE_RETURN_IF_ERROR(environment.Validate());
  const SpaceLeaf& action = environment.actions[0];
  if (environment.observations.size() > 1 || environment.actions.size() > 1 || action.kind != SpaceKind::kDiscrete) {
    return absl::InvalidArgumentError(
        absl::StrCat("apex_dqn acts on one observation, with one discrete action; got ", environment.DebugString()));
  }
  if (context.lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(context.lanes, " lanes; wanted at least 1"));
  }
  WAGGLE_ASSIGN_OR_RETURN(NetworkPlan plan, PlanNetwork(context.experiment->network, environment.observations[0].array,
                                                        action.num_values[0]));
  const uint64_t seed = Rng::Split(static_cast<uint64_t>(context.experiment->experiment.seed), "network", 0).Next();
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, Network::Create(std::move(plan), context.device, seed));
  return CatchTorch("making a policy", [&] {
    const ArraySpec& observation = environment.observations[0].array;
    std::vector<int64_t> shape = observation.shape;
    shape.insert(shape.begin(), context.lanes);
    torch::Tensor observations = torch::zeros(
        shape, torch::TensorOptions().dtype(ToScalarType(observation.dtype)).pinned_memory(!context.device.is_cpu()));
    return std::unique_ptr<Policy>(new DqnPolicy(context, *options, std::move(network), std::move(observations)));
  });
}

torch::Tensor DqnPolicy::Evaluate(const PolicyInput& input) {
  c10::InferenceMode inference;
  std::memcpy(observations_.data_ptr(), input.observations[0], observation_bytes_);
  if (device_.is_cpu()) {
    return tape_.Forward(observations_);
  }
  return tape_.Forward(observations_.to(device_, /*non_blocking=*/true)).to(torch::kCPU);
}

absl::Status DqnPolicy::Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) {
  const int64_t lanes = static_cast<int64_t>(epsilons_.size());
  if (input.lanes != lanes) {
    return absl::InvalidArgumentError(absl::StrCat("observations of ", input.lanes, " lanes for a policy of ", lanes));
  }
  WAGGLE_ASSIGN_OR_RETURN(const torch::Tensor values,
                          CatchTorch("acting", [&] { return Evaluate(input).contiguous(); }));
  const int64_t choices = values.size(1);
  const float* q = values.data_ptr<float>();
  int64_t* const actions = static_cast<int64_t*>(output->actions[0]);
  for (int64_t lane = 0; lane < lanes; ++lane, q += choices) {
    const int64_t best = std::max_element(q, q + choices) - q;
    int64_t action = best;
    if (mode == ActMode::kExplore &&
        rng_.Uniform() < Annealed(1, epsilons_[static_cast<size_t>(lane)], anneal_steps_, steps_)) {
      action = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(choices)));
    }
    if (!std::isfinite(q[best]) || !std::isfinite(q[action])) {
      return absl::InvalidArgumentError(
          absl::StrCat("lane ", lane, ": the Q-values of its observation are not finite"));
    }
    actions[lane] = action;
    if (output->private_values != nullptr) {
      output->private_values[2 * lane] = q[action];
      output->private_values[2 * lane + 1] = q[best];
    }
  }
  steps_ += mode == ActMode::kExplore ? 1 : 0;
  return absl::OkStatus();
}

absl::Status DqnPolicy::LoadWeights(const ModelSnapshot& snapshot) {
  return DecodeWeights(snapshot, network_->hash(), &network_->parameters());
}

}  // namespace waggle
