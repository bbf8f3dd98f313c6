#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/plan/network_plan.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/layer_stack.h"
#include "common/nn/recurrent_core.h"
#include "common/nn/torch.h"

namespace waggle {

// A planned network: its parameters in one flat buffer, and outputs for observations. Not thread-safe.
class Network {
 public:
  // Initial values follow from `seed` and are the same on all devices; each member has its own seed. Without `learns`,
  // for acting and targets, there are no gradients. Errors are FlatParameters::Create's.
  static absl::StatusOr<std::unique_ptr<Network>> Create(NetworkPlan plan, torch::Device device, uint64_t seed,
                                                         torch::ScalarType dtype = torch::kFloat32, bool learns = true);

  // A head's output for each row.
  struct HeadOutput {
    torch::Tensor values;   // [rows, outputs], or [members, rows, outputs].
    torch::Tensor log_std;  // For a normal head with free standard deviations: [outputs] or [members, outputs].
  };

  // Returns one output for each head of the plan. `leaves` are the environment's observations, in order, [rows, …] of
  // their own type; those without an encoder, for example masks, may be undefined. `action`: [rows, …], in the stream's
  // form, if the network takes it. `extra`: NetworkPlan::extra, [rows, width] each, or [rows, samples, width] for all
  // that multiply; then outputs have rows * samples rows. A c10::Error if the plan has a core.
  std::vector<HeadOutput> Forward(const std::vector<torch::Tensor>& leaves, const torch::Tensor& action = {},
                                  const std::vector<torch::Tensor>& extra = {},
                                  ForwardPass pass = ForwardPass::kPlain) const;

  struct Unrolled {
    std::vector<HeadOutput> heads;  // For T * rows rows.
    torch::Tensor state;            // [rows, state_size], after the last step.
  };
  // The same over T steps of the same rows, with or without a core. Leaves and action are [T * rows, …], step by step.
  // `first`, T * rows bools, marks rows that begin an episode, whose state is zero; undefined if none does. `state` is
  // [rows, state_size] before the first step. Without a core both are ignored and the state is returned.
  Unrolled Unroll(const std::vector<torch::Tensor>& leaves, const torch::Tensor& first, const torch::Tensor& state,
                  const torch::Tensor& action = {}, const std::vector<torch::Tensor>& extra = {},
                  ForwardPass pass = ForwardPass::kPlain) const;

  // True if it has a noisy layer. Weights have no noise at first.
  bool noisy() const { return noisy_; }
  // Draws new noise for all noisy layers, on the parameters' device; null removes it.
  void SetNoise(const DrawNormal& draw) const;

  // Moves the running statistics of batch norms by those of the last pass of the kind kTraining, which there must be if
  // there is such a layer.
  void FollowBatch() const;

  const NetworkPlan& plan() const { return plan_; }
  FlatParameters& parameters() { return parameters_; }
  const FlatParameters& parameters() const { return parameters_; }

 private:
  struct Trunk {
    std::vector<LayerStack> encoders;
    LayerStack torso;
    std::vector<RecurrentCore> cores;  // CorePlans'.
    std::vector<LayerStack> multipliers;
  };
  struct Head {
    LayerStack layers;
    LayerStack value;
    torch::Tensor log_std;
  };

  Network(NetworkPlan plan, FlatParameters parameters, bool learns);

  void Initialize(uint64_t seed);
  // Calls visit(stack) for all its layers.
  template <class Visit>
  void ForEachStack(const Visit& visit) const;
  // Normalises a leaf for the encoders.
  torch::Tensor Normalized(size_t leaf, const torch::Tensor& input) const;
  torch::Tensor Features(size_t trunk, const std::vector<torch::Tensor>& leaves, const torch::Tensor& action,
                         const std::vector<torch::Tensor>& extra, ForwardPass pass) const;
  // Features of torso or core times those of the inputs that multiply; [rows * samples, …] if these have samples.
  torch::Tensor Multiplied(size_t trunk, torch::Tensor features, const std::vector<torch::Tensor>& extra,
                           ForwardPass pass) const;
  // A head's outputs from its two streams, [rows, choices * size] and [rows, size].
  static torch::Tensor Dueling(const HeadPlan& plan, const torch::Tensor& advantage, const torch::Tensor& value);
  // Computes the heads from each trunk's features.
  std::vector<HeadOutput> Heads(const std::vector<torch::Tensor>& features, ForwardPass pass) const;

  const NetworkPlan plan_;
  FlatParameters parameters_;
  std::vector<const NormalizerPlan*> normalizers_;  // By leaf; null if it is not normalised.
  std::vector<Trunk> trunks_;
  std::vector<Head> heads_;
  bool noisy_ = false;
};

}  // namespace waggle
