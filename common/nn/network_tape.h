#pragma once

#include <vector>

#include "common/nn/network.h"
#include "common/nn/torch.h"

namespace waggle {

// A network's forward pass into buffers of its own and the backward pass from it, without autograd: small networks
// spend most of their time in autograd's book-keeping. Both agree with Network::Forward and backward(). Not
// thread-safe; may throw as LibTorch does.
class NetworkTape {
 public:
  // The network outlives the tape.
  explicit NetworkTape(Network* network);

  // The outputs for observations [rows, …]: a buffer that the next call overwrites.
  const torch::Tensor& Forward(const torch::Tensor& observations);

  // Sets the parameters' gradients from those of the loss by the first rows of the last Forward's outputs,
  // [at most rows, num_outputs]. The other rows count as having none.
  void Backward(const torch::Tensor& output_gradients);

 private:
  // What one layer remembers.
  struct Step {
    const LayerPlan* layer = nullptr;
    torch::Tensor weight;
    torch::Tensor weight_transposed;
    torch::Tensor bias;
    torch::Tensor weight_gradient;
    torch::Tensor bias_gradient;
    torch::Tensor input;   // As the layer takes it: flat for a dense one.
    torch::Tensor before;  // Before the activation, where its derivative needs that.
    torch::Tensor output;
    torch::Tensor activation_gradient;  // Buffers.
    torch::Tensor input_gradient;
  };

  Step MakeStep(const LayerPlan& layer) const;
  static torch::Tensor Run(Step* step, const torch::Tensor& input);
  // The gradient by the layer's input; undefined unless it is wanted.
  static torch::Tensor RunBack(Step* step, torch::Tensor gradient, bool wants_input_gradient);
  static torch::Tensor RunBack(std::vector<Step>* steps, torch::Tensor gradient, bool wants_input_gradient);

  Network* const network_;
  std::vector<Step> torso_;
  std::vector<Step> output_;
  std::vector<Step> value_;
  torch::Tensor result_;
};

}  // namespace waggle
