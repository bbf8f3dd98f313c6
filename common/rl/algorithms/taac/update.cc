#include <utility>

#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/algorithms/taac/switch.h"
#include "common/rl/algorithms/taac/taac.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/returns/sequence_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// The options of the switch's temperature.
TaacOptions OfSwitch(TaacOptions options) {
  options.temperature = options.switch_temperature;
  return options;
}

class Taac : public Algorithm {
 public:
  Taac(const TaacOptions& options, Model* model)
      : options_(options),
        actor_(model->net("actor")),
        critic_(model->net("critic")),
        temperature_(options, model),
        switch_temperature_(OfSwitch(options), model, "log_switch_temperature") {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Sequences s =
        SequencesOf(batches, options_.discount, /*burn_in=*/0, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(s.reward);
    const Tensor switch_alpha = switch_temperature_.Value(s.reward);
    // The action before each row, [T + 1, rows, elements].
    const Tensor before =
        torch::cat({s.Column(TaacOptions::kRepeatedAction).narrow(0, 0, 1), Unrolls::Steps(s.action)});
    const Tensor repeats = Unrolls::Steps(s.action == before).all(-1).logical_and(s.counts);
    const SampledAction proposed = actor_(s.observation, before).policy().Sample(context->noise());
    const auto choices = [&](const auto& critic) {
      return Switch(critic(s.observation, before).value().amin(0),
                    critic(s.observation, proposed.action).value().amin(0), switch_alpha);
    };
    Tensor target;  // [T, rows].
    {
      const torch::NoGradGuard no_grad;
      target = CompareThroughReturns(s.reward, s.discount, repeats, choices(critic_.target()));
    }
    const Tensor taken = critic_(s.observation, s.action).value();  // [critics, T + 1, rows].
    const Tensor error =
        torch::where(s.learned, taken.narrow(1, 0, target.size(0)) - target, torch::zeros({}, target.options()));
    if (context->Descend(MaskedMean(0.5 * s.weight * error.square().sum(0), s.learned), critic_.group())) {
      critic_.FollowTarget(options_.target_update_rate);
    }
    // The actor climbs what the choice is worth with its entropy: Q of a proposal counts by the proposal's probability.
    const Switch now = choices(critic_);
    const auto mean = [&](const Tensor& values) { return MaskedMean(Unrolls::Steps(values), s.learned); };
    const Tensor worth = now.Value() + switch_alpha * now.entropy;
    context->Descend(mean(s.weight * (alpha * proposed.log_prob - worth)), actor_.group());
    const Tensor entropy = mean(-proposed.log_prob).detach();
    temperature_.LearnReal(entropy, s.action, context);
    const Tensor switch_entropy = mean(now.entropy).detach();
    switch_temperature_.Learn(switch_entropy, torch::full_like(switch_entropy, options_.switch_target_entropy),
                              context);
    context->SetPriorities(MaxMeanPriority(error.detach().abs().mean(0), s.learned, kLargestErrorShare));
    context->Report("q_mean", mean(now.proposed.detach()));
    context->Report("entropy", entropy);
    context->Report("temperature", alpha);
    context->Report("switch_entropy", switch_entropy);
    context->Report("switch_temperature", switch_alpha);
    context->Report("switch_probability", mean(now.probability.detach()));
  }

 private:
  const TaacOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
  const Temperature switch_temperature_;
};

// Remembers the action of each slot.
class TaacPolicy : public AlgorithmPolicy {
 public:
  TaacPolicy(const TaacOptions& options, ActingNets nets)
      : options_(options),
        nets_(std::move(nets)),
        taken_(torch::zeros({nets_.slots, JointActionOf(nets_.environment).num_reals}, nets_.device)) {}

  Acted Act(const ActingRows& rows) override {
    const Tensor before = taken_.index_select(0, rows.slots).masked_fill(rows.first.unsqueeze(1), 0);
    const Distribution policy = nets_.net("actor")(rows.observation, before).policy();
    const Tensor proposed = rows.greedy ? policy.Mode() : policy.Sample(rows.noise).action;
    const auto value = [&](const Tensor& action) {
      return nets_.net("critic")(rows.observation, action).value().amin(0);
    };
    const Switch choice(value(before), value(proposed), SwitchTemperature());
    // Compares values: at a high temperature the probability rounds to a half, whichever action is better.
    const Tensor switches = rows.greedy ? choice.proposed > choice.repeated
                                        : rows.noise->UniformLike(choice.probability) < choice.probability;
    Acted acted;
    acted.action = torch::where(switches.unsqueeze(1), proposed, before);
    acted.columns[TaacOptions::kRepeatedAction] = before;
    return acted;
  }

  void NoteTaken(const ActingRows& rows, const Tensor& action) override { taken_.index_copy_(0, rows.slots, action); }

 private:
  Tensor SwitchTemperature() const {
    return Temperature::Acting(options_, options_.switch_temperature, nets_, "log_switch_temperature", taken_);
  }

  const TaacOptions options_;
  const ActingNets nets_;
  Tensor taken_;  // [slots, elements].
};

}  // namespace

AlgorithmImplementation taac_implementation() {
  return ImplementWithPolicy<Taac, TaacPolicy, TaacOptions>();
}

}  // namespace waggle
