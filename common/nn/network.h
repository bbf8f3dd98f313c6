#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/layer_stack.h"
#include "common/nn/recurrent_core.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// A network as planned: parameters in one flat buffer, and its outputs for observations. Not thread-safe.
class Network {
 public:
  // Initialised from `seed`: the same values on every device, each member's from a seed of its own. Without `learns`
  // there are no gradients: networks that act, and targets. Errors as FlatParameters::Create.
  static absl::StatusOr<std::unique_ptr<Network>> Create(NetworkPlan plan, torch::Device device, uint64_t seed,
                                                         torch::ScalarType dtype = torch::kFloat32, bool learns = true);

  // A head's output for every row.
  struct HeadOutput {
    torch::Tensor values;   // [rows, outputs], or [members, rows, outputs].
    torch::Tensor log_std;  // For a normal head with free standard deviations: [outputs] or [members, outputs].
  };

  // One output a head of the plan. `leaves`: the environment's observations, in their order, each [rows, …] in the
  // leaf's own element type; leaves that no encoder takes, such as masks, may be undefined. `action`: [rows, …], in the
  // stream's form, if the network takes it. `by_autograd`: see LayerStack. A c10::Error if the plan has a core.
  std::vector<HeadOutput> Forward(const std::vector<torch::Tensor>& leaves, const torch::Tensor& action = {},
                                  bool by_autograd = false) const;

  struct Unrolled {
    std::vector<HeadOutput> heads;  // For T * rows rows.
    torch::Tensor state;            // [rows, state_size], after the last step.
  };
  // The same over T steps of the same rows, for a plan with or without a core: leaves and action are [T * rows, …], one
  // step after the other. `first`, bool of T * rows elements: the row is an episode's first, before which its state is
  // zero; undefined: none is. `state`: [rows, state_size], before the first step. Without a core the last two do
  // nothing, and the state is returned.
  Unrolled Unroll(const std::vector<torch::Tensor>& leaves, const torch::Tensor& first, const torch::Tensor& state,
                  const torch::Tensor& action = {}, bool by_autograd = false) const;

  const NetworkPlan& plan() const { return plan_; }
  FlatParameters& parameters() { return parameters_; }
  const FlatParameters& parameters() const { return parameters_; }

 private:
  struct Trunk {
    std::vector<LayerStack> encoders;
    LayerStack torso;
    std::optional<RecurrentCore> core;
  };
  struct Head {
    LayerStack layers;
    LayerStack value;
    torch::Tensor log_std;
  };

  Network(NetworkPlan plan, FlatParameters parameters, bool learns);

  void Initialize(uint64_t seed);
  // A leaf, normalised for the encoders.
  torch::Tensor Normalized(size_t leaf, const torch::Tensor& input) const;
  torch::Tensor Features(size_t trunk, const std::vector<torch::Tensor>& leaves, const torch::Tensor& action,
                         bool by_autograd) const;
  // Computes the heads from each trunk's features.
  std::vector<HeadOutput> Heads(const std::vector<torch::Tensor>& features, bool by_autograd) const;

  const NetworkPlan plan_;
  FlatParameters parameters_;
  std::vector<const NormalizerPlan*> normalizers_;  // By the index of the leaf; null if it is not normalised.
  std::vector<Trunk> trunks_;
  std::vector<Head> heads_;
};

}  // namespace waggle
