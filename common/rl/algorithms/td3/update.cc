#include "common/rl/algorithms/td3/update.h"

#include "common/rl/algorithms/implementations.h"

namespace waggle {

torch::Tensor Td3::NextAction(const torch::Tensor& action, Noise* noise) const {
  const torch::Tensor drawn = (noise->NormalLike(action) * options_.target_noise)
                                  .clamp(-options_.target_noise_clip, options_.target_noise_clip);
  return (action + drawn).clamp(-1, 1);
}

AlgorithmImplementation td3_implementation() {
  return Implement<Td3, Td3Options>();
}

}  // namespace waggle
