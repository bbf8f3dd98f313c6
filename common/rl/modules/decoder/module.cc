#include <string>
#include <vector>

#include "common/rl/modules/decoder/decoder.h"
#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"

namespace waggle {
namespace {

using torch::Tensor;

class Decoder : public Module {
 public:
  Decoder(const DecoderOptions& options, Model* model)
      : options_(options), network_(*model->FindNetWith(kDecoderHead)) {}

  // weight * mean over steps and numbers of (prediction - number)^2.
  Tensor Loss(const ParameterGroup& group, const Batches& batches) override {
    if (&group != network_.group()) {
      return {};
    }
    Tensor sum;
    for (const auto& [table, batch] : batches.tables()) {
      const Steps steps = StepsOf(batches.environment(), *batch);
      const Tensor error = (network_(steps.observation).vector(kDecoderHead) - Numbers(batches, steps)).square();
      const Tensor loss = options_.weight * MeanOfCounted(error.mean(-1), steps.counts);
      sum = sum.defined() ? sum + loss : loss;
    }
    return sum;
  }

 private:
  // [steps, numbers], of the networks' type.
  Tensor Numbers(const Batches& batches, const Steps& steps) const {
    if (options_.predicts == "reward") {
      return steps.reward.unsqueeze(-1);
    }
    const bool is_next = options_.predicts == "next_observation";
    std::vector<Tensor> numbers;
    for (size_t i = 0; i < steps.observation.size(); ++i) {
      if (batches.environment().observations[i].kind == SpaceKind::kBox) {
        const Tensor& leaf = is_next ? steps.next_observation[i] : steps.observation[i];
        numbers.push_back(leaf.to(steps.reward.scalar_type()).reshape({leaf.size(0), -1}));
      }
    }
    return torch::cat(numbers, -1);
  }

  const DecoderOptions options_;
  const Net& network_;
};

}  // namespace

ModuleImplementation decoder_module_implementation() {
  return ImplementModule<Decoder, DecoderOptions>();
}

}  // namespace waggle
