#include "common/rl/algorithms/apex_dqn.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/field_checker.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "common/rl/annealed.h"
#include "common/rl/importance_weights.h"
#include "common/rl/returns.h"
#include "common/table_config/batch_layout.h"

namespace waggle {
namespace {

TargetUpdate MakeTargetUpdate(const ApexDqnOptions& options) {
  return options.update_steps > 0 ? TargetUpdate::Periodic(options.update_steps)
                                  : TargetUpdate::Soft(options.EffectiveUpdateRate());
}

}  // namespace

ApexDqn::ApexDqn(const Experiment& experiment, const ApexDqnOptions& options, std::unique_ptr<Network> online,
                 std::unique_ptr<Network> target, std::unique_ptr<ParameterGroup> group)
    : model_(experiment.experiment.name),
      options_(options),
      mode_(options.mode == "vanilla"        ? Mode::kVanilla
            : options.mode == "fixed_target" ? Mode::kFixedTarget
                                             : Mode::kDouble),
      loss_(options.loss == "mse" ? TdLoss::kMse : TdLoss::kHuber),
      uses_priorities_(experiment.replay.table.UsesPriorities()),
      online_(std::move(online)),
      target_(std::move(target)),
      group_(std::move(group)),
      online_tape_(online_.get()),
      target_tape_(target_ != nullptr ? std::make_unique<NetworkTape>(target_.get()) : nullptr),
      target_update_(MakeTargetUpdate(options)) {}

absl::StatusOr<std::unique_ptr<Algorithm>> ApexDqn::Create(const AlgorithmContext& context) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Algorithm> algorithm, CreateAs(context, torch::kFloat32));
  return algorithm;
}

absl::StatusOr<std::unique_ptr<ApexDqn>> ApexDqn::CreateAs(const AlgorithmContext& context, torch::ScalarType dtype) {
  const Experiment& experiment = *context.experiment;
  const auto* const options = dynamic_cast<const ApexDqnOptions*>(experiment.algorithm_options.get());
  if (options == nullptr) {
    return absl::InvalidArgumentError("apex_dqn was given the options of another algorithm");
  }
  WAGGLE_RETURN_IF_ERROR(Check(*options));
  const EnvironmentSpec& environment = context.environment;
  WAGGLE_RETURN_IF_ERROR(environment.Validate());
  const SpaceLeaf& action = environment.actions[0];
  if (environment.observations.size() > 1 || environment.actions.size() > 1 || action.kind != SpaceKind::kDiscrete) {
    return absl::InvalidArgumentError(
        absl::StrCat("apex_dqn learns from one observation and one discrete action; got ", environment.DebugString()));
  }
  WAGGLE_ASSIGN_OR_RETURN(NetworkPlan plan,
                          PlanNetwork(experiment.network, environment.observations[0].array, action.num_values[0]));
  const uint64_t seed = Rng::Split(static_cast<uint64_t>(experiment.experiment.seed), "network", 0).Next();
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> online, Network::Create(plan, context.device, seed, dtype));
  std::unique_ptr<Network> target;
  if (options->mode != "vanilla") {
    // The same seed: target and online network begin equal.
    WAGGLE_ASSIGN_OR_RETURN(target, Network::Create(plan, context.device, seed, dtype));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ParameterGroup> group,
                          ParameterGroup::Create("q", &online->parameters(), options->optimizer));
  return CatchTorch("making apex_dqn", [&] {
    return std::unique_ptr<ApexDqn>(
        new ApexDqn(experiment, *options, std::move(online), std::move(target), std::move(group)));
  });
}

torch::Tensor ApexDqn::Targets(const TensorBatch& batch, const torch::Tensor& selector,
                               const torch::Tensor& values) const {
  const NStepReturn returns =
      NStepReturns(batch.at(kReward), batch.at(kDiscount), batch.at(kItemLength), options_.discount);
  return DqnTargets(returns.rewards, returns.bootstrap, selector, values);
}

DqnLossResult ApexDqn::ComputeLoss(const TensorBatch& batch) {
  const torch::Tensor& observation = batch.at(kObservation);
  const torch::Tensor& next_observation = batch.at("next_observation");
  torch::Tensor q;
  torch::Tensor targets;
  if (mode_ == Mode::kFixedTarget) {
    const torch::Tensor next = target_tape_->Forward(next_observation);
    targets = Targets(batch, next, next);
    q = online_tape_.Forward(observation);
  } else {
    // The online network sees both ends of the window in one pass: fewer, larger operators.
    const torch::Tensor both = online_tape_.Forward(torch::cat({observation, next_observation}));
    q = both.narrow(0, 0, batch.size);
    const torch::Tensor next = both.narrow(0, batch.size, batch.size);
    targets = Targets(batch, next, mode_ == Mode::kDouble ? target_tape_->Forward(next_observation) : next);
  }
  const double exponent = Annealed(options_.importance_exponent, options_.importance_exponent_final,
                                   options_.importance_anneal_steps, updates_);
  const torch::Tensor weights = ImportanceWeights(batch.at(kItemProbability), exponent);
  return DqnLoss(loss_, q, batch.at(kAction), targets, weights);
}

absl::StatusOr<UpdateResult> ApexDqn::Update(const TensorBatch& batch, Stepper* stepper) {
  torch::NoGradGuard no_grad;
  DqnLossResult loss;
  WAGGLE_RETURN_IF_ERROR(CatchTorch("computing apex_dqn's loss", [&]() -> absl::Status {
    loss = ComputeLoss(batch);
    // On the CPU a look costs nothing; elsewhere the gradient carries the news to the stepper.
    if (loss.loss.is_cpu() && !std::isfinite(loss.loss.item<double>())) {
      return absl::InvalidArgumentError(
          absl::StrCat("the loss of update ", updates_ + 1, " is ", loss.loss.item<double>(),
                       ": a reward, an observation or an action of the batch is out of bounds, or learning diverged"));
    }
    online_tape_.Backward(loss.q_gradient);
    return absl::OkStatus();
  }));
  WAGGLE_ASSIGN_OR_RETURN(const bool stepped, stepper->Step(group_.get(), Progress{0, updates_, 0}));
  UpdateResult result;
  WAGGLE_RETURN_IF_ERROR(CatchTorch("updating apex_dqn's target", [&] {
    if (stepped && target_ != nullptr) {
      target_update_.Follow(online_->parameters(), &target_->parameters());
    }
    if (uses_priorities_) {
      result.priorities = loss.td_errors.add_(options_.priority_epsilon);
    }
  }));
  ++updates_;
  result.metrics = {
      {"loss", loss.loss}, {"q_mean", loss.q_mean}, {"gradient_norm", group_->optimizer().gradient_norm()}};
  return result;
}

absl::StatusOr<ModelSnapshot> ApexDqn::Publish() {
  WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, EncodeWeights(online_->parameters(), online_->hash()));
  snapshot.model = model_;
  return snapshot;
}

absl::Status ApexDqn::LoadPublished(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(DecodeWeights(snapshot, online_->hash(), &online_->parameters()));
  updates_ = static_cast<int64_t>(snapshot.version.version);
  return CatchTorch("loading apex_dqn's target", [&] {
    torch::NoGradGuard no_grad;
    if (target_ != nullptr) {
      torch::Tensor values = target_->parameters().values();
      values.copy_(online_->parameters().values());
    }
  });
}

void ApexDqn::VisitState(StateVisitor* visitor) {
  torch::Tensor online = online_->parameters().values();
  visitor->Tensor("online", &online);
  if (target_ != nullptr) {
    torch::Tensor target = target_->parameters().values();
    visitor->Tensor("target", &target);
    visitor->Scope("target_update", [&] { target_update_.VisitState(visitor); });
  }
  visitor->Scope("optimizer", [&] { group_->optimizer().VisitState(visitor); });
  visitor->Int("updates", &updates_);
}

}  // namespace waggle
