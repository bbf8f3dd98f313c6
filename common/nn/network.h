#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// A network as its plan says: parameters in one flat buffer, and the functions of LibTorch applied to them. Not
// thread-safe.
class Network {
 public:
  // Initialised from `seed`: the same values on every device. Errors as of FlatParameters::Create.
  static absl::StatusOr<std::unique_ptr<Network>> Create(NetworkPlan plan, torch::Device device, uint64_t seed,
                                                         torch::ScalarType dtype = torch::kFloat32);

  // The outputs, [rows, num_outputs], for observations [rows, …]; differentiable by autograd. Where the gradient of the
  // loss is known in closed form, NetworkTape does the same with less overhead.
  torch::Tensor Forward(const torch::Tensor& observations) const;

  // What the first layer sees: the observations in the network's element type, bytes scaled to [0, 1].
  torch::Tensor Enter(const torch::Tensor& observations) const;

  const NetworkPlan& plan() const { return plan_; }
  uint64_t hash() const { return plan_.shape.hash; }
  FlatParameters& parameters() { return parameters_; }
  const FlatParameters& parameters() const { return parameters_; }

 private:
  Network(NetworkPlan plan, FlatParameters parameters) : plan_(std::move(plan)), parameters_(std::move(parameters)) {}

  torch::Tensor Apply(const LayerPlan& layer, const torch::Tensor& input) const;

  const NetworkPlan plan_;
  FlatParameters parameters_;
};

}  // namespace waggle
