#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/nn/chain.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"

namespace waggle {

// Draws standard normal numbers of the shape and type of a tensor.
using DrawNormal = std::function<torch::Tensor(const torch::Tensor& like)>;

// How layers compute.
enum class ForwardPass {
  kPlain,
  kByAutograd,  // By operations that can be differentiated twice, without Chain's backward pass.
  kTraining,    // kBatchNorm by the batch, in place of the running statistics.
};

// Consecutive layers of a plan. Not thread-safe; may throw as LibTorch does.
class LayerStack {
 public:
  LayerStack() = default;
  // `members` and `learns` are Chain's.
  LayerStack(const std::vector<LayerPlan>& layers, std::optional<int64_t> members, bool learns,
             FlatParameters* parameters);

  // [rows, …] for [rows, …], or [members, rows, …] for that or for an input of each member.
  torch::Tensor operator()(torch::Tensor features, ForwardPass pass = ForwardPass::kPlain) const;

  // New noise for every noisy layer; without `draw` none, so that weights are their means, as at first.
  void SetNoise(const DrawNormal& draw) const;

  // Moves the running statistics of batch norms towards those of the last training pass.
  void FollowBatch() const;

  bool empty() const { return steps_.empty(); }

 private:
  // A noisy layer's present noise: [inputs] and [outputs], or [members, 1, …]; undefined if it has none.
  struct LayerNoise {
    torch::Tensor inputs, outputs;
  };

  // A batch norm's statistics of its last training pass, [channels], [members, channels] or [1, channels].
  struct BatchMoments {
    torch::Tensor mean, variance;
  };

  // A layer outside of chains. Its parameters are leaves if they are learned.
  struct Single {
    LayerPlan plan;
    torch::Tensor weight, bias;
    torch::Tensor weight_deviation, bias_deviation;  // kNoisyDense.
    torch::Tensor mean, variance, batches;           // kBatchNorm.
    std::shared_ptr<BatchMoments> last;              // kBatchNorm.
    std::shared_ptr<LayerNoise> noise;               // kNoisyDense.
    std::shared_ptr<const LayerStack> inner;
  };

  // Normalises a batch, or by the running statistics.
  torch::Tensor BatchNorm(const Single& layer, const torch::Tensor& features, bool training) const;
  torch::Tensor Run(const Single& layer, const torch::Tensor& features, ForwardPass pass) const;

  std::optional<int64_t> members_;
  torch::ScalarType dtype_ = torch::kFloat32;  // The type of its computations.
  std::vector<std::variant<Chain, Single>> steps_;
};

}  // namespace waggle
