#include "common/nn/chain.h"

#include <array>
#include <utility>

#include "common/nn/activations.h"
#include "common/nn/layer_kernels.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

using torch::Tensor;

// Below this many multiplications of a layer and a member, members are one batched product. Above, LibTorch 1.13's is
// slower than single products (measured).
constexpr int64_t kBatchedProducts = int64_t{1} << 21;

// True if our own sweeps compute a dense layer's bias and activation.
bool Swept(LayerPlan::Kind kind, Activation activation, const Tensor& values) {
  return kind == LayerPlan::Kind::kDense && (activation == Activation::kNone || activation == Activation::kRelu) &&
         values.is_cpu() && values.scalar_type() == torch::kFloat32;
}

Tensor Member(const Tensor& values, bool by_member, size_t member) {
  return by_member ? values.select(0, static_cast<int64_t>(member)) : values;
}

}  // namespace

struct Chain::Layers {
  // A layer of one member, as matrices: [out, in] and [out].
  struct Slice {
    Tensor weight, transposed, bias;
    Tensor weight_gradient, bias_gradient;  // Undefined if nothing is learned.
  };

  struct Layer {
    LayerPlan::Kind kind = LayerPlan::Kind::kDense;
    Activation activation = Activation::kNone;
    int64_t stride = 1;
    int64_t padding = 0;
    Slice all;                   // [members, …] if there are members.
    std::vector<Slice> members;  // One without members.
    int64_t weight_offset = 0;   // In the chain's run of values.
    int64_t bias_offset = 0;
  };

  // One layer's values that the backward pass needs.
  struct Saved {
    Tensor input;   // In the layer's form: a matrix for a dense one.
    Tensor before;  // Before the activation, if its derivative needs that.
    Tensor output;
  };

  std::vector<Layer> layers;
  std::optional<int64_t> members;
  Tensor values;  // All layers', in one run.
  Tensor leaf;    // Autograd's; undefined if nothing is learned.

  // Flattens a convolution's output to a matrix for a dense layer.
  static Tensor Flat(const Tensor& input, bool by_member) {
    const int64_t lead = by_member ? 2 : 1;
    return input.dim() == lead + 1 ? input
           : by_member             ? input.reshape({input.size(0), input.size(1), -1})
                                   : input.reshape({input.size(0), -1});
  }

  bool Batched(const Layer& layer, int64_t rows) const {
    return members.has_value() && layer.kind == LayerPlan::Kind::kDense &&
           rows * layer.members[0].weight.numel() < kBatchedProducts;
  }

  // The product with the weights, and the bias unless `swept`.
  Tensor Product(const Layer& layer, const Tensor& input, bool by_member, bool swept) const {
    const bool conv = layer.kind == LayerPlan::Kind::kConv;
    const auto one = [&](const Slice& slice, const Tensor& x) {
      return conv    ? at::conv2d(x, slice.weight, slice.bias, layer.stride, layer.padding)
             : swept ? at::mm(x, slice.transposed)
                     : at::addmm(slice.bias, x, slice.transposed);
    };
    if (!members.has_value()) {
      return one(layer.members[0], input);
    }
    if (Batched(layer, input.size(-2))) {
      const Tensor of_all = by_member ? input : input.unsqueeze(0).expand({*members, input.size(0), input.size(1)});
      return swept ? at::bmm(of_all, layer.all.transposed)
                   : at::baddbmm(layer.all.bias.unsqueeze(1), of_all, layer.all.transposed);
    }
    std::vector<Tensor> outputs;
    for (size_t m = 0; m < layer.members.size(); ++m) {
      outputs.push_back(one(layer.members[m], Member(input, by_member, m)));
    }
    return at::stack(outputs);
  }

  Tensor Run(Tensor features, std::vector<Saved>* saved) const {
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer& layer = layers[i];
      const bool by_member = ByMember(features, i);
      if (layer.kind == LayerPlan::Kind::kDense) {
        features = Flat(features, by_member);
      }
      Saved step;
      step.input = features;
      const bool swept = Swept(layer.kind, layer.activation, features);
      features = Product(layer, features, by_member, swept);
      if (swept) {
        ForEachMember(layer, features, [&](size_t m, int64_t rows, int64_t offset) {
          AddBias(layer.members[m].bias.data_ptr<float>(), layer.activation == Activation::kRelu, rows,
                  features.size(-1), features.data_ptr<float>() + offset);
        });
      } else if (NeedsInput(layer.activation)) {
        step.before = features;
        features = layer.activation == Activation::kGelu ? at::gelu(features) : at::silu(features);
      } else {
        ActivateInPlace(layer.activation, features);
      }
      if (saved != nullptr) {
        step.output = features;
        saved->push_back(std::move(step));
      }
    }
    return features;
  }

  // Visits each member's rows of a dense layer's outputs: visit(member, rows, offset).
  template <class Visit>
  void ForEachMember(const Layer& layer, const Tensor& outputs, const Visit& visit) const {
    const int64_t rows = outputs.size(-2);
    for (size_t m = 0; m < layer.members.size(); ++m) {
      visit(m, rows, static_cast<int64_t>(m) * rows * outputs.size(-1));
    }
  }

  // The gradient by the activation's input. Adds the gradient by a learned bias if sweeps compute it.
  Tensor BackThroughActivation(const Layer& layer, const Saved& saved, const Tensor& gradient, bool learns) const {
    if (!Swept(layer.kind, layer.activation, saved.output)) {
      return ActivationBackward(layer.activation, gradient, saved.before, saved.output);
    }
    const bool relu = layer.activation == Activation::kRelu;
    const Tensor passed = gradient.contiguous();
    const Tensor result = relu ? at::empty_like(passed) : passed;
    ForEachMember(layer, result, [&](size_t m, int64_t rows, int64_t offset) {
      BackThroughBias(saved.output.data_ptr<float>() + offset, passed.data_ptr<float>() + offset, relu, rows,
                      result.size(-1), result.data_ptr<float>() + offset,
                      learns ? layer.members[m].bias_gradient.data_ptr<float>() : nullptr);
    });
    return result;
  }

  // True if each member has its own features at this layer.
  bool ByMember(const Tensor& features, size_t index) const {
    if (!members.has_value()) {
      return false;
    }
    const int64_t rank = layers[index].kind == LayerPlan::Kind::kConv ? 5 : 3;
    return index > 0 || features.dim() >= rank;
  }

  // Adds the gradients by a layer's parameters. Returns the gradient by its input; undefined unless wanted.
  Tensor RunBack(const Layer& layer, const Saved& saved, const Tensor& gradient, bool by_member, bool learns,
                 bool wants_input) const;
};

Tensor Chain::Layers::RunBack(const Layer& layer, const Saved& saved, const Tensor& gradient, bool by_member,
                              bool learns, bool wants_input) const {
  const bool bias_is_done = Swept(layer.kind, layer.activation, saved.output);
  if (layer.kind == LayerPlan::Kind::kDense && members.has_value() && Batched(layer, saved.input.size(-2))) {
    if (learns) {
      Tensor weight_gradient = layer.all.weight_gradient;
      Tensor bias_gradient = layer.all.bias_gradient;
      const Tensor input = by_member
                               ? saved.input
                               : saved.input.unsqueeze(0).expand({*members, saved.input.size(0), saved.input.size(1)});
      weight_gradient.baddbmm_(gradient.transpose(1, 2), input);
      if (!bias_is_done) {
        bias_gradient.add_(gradient.sum(1));
      }
    }
    if (!wants_input) {
      return Tensor();
    }
    const Tensor input_gradient = at::bmm(gradient, layer.all.weight);
    return by_member ? input_gradient : input_gradient.sum(0);
  }
  std::vector<Tensor> input_gradients;
  for (size_t m = 0; m < layer.members.size(); ++m) {
    const Slice& slice = layer.members[m];
    const Tensor g = Member(gradient, members.has_value(), m);
    const Tensor x = Member(saved.input, by_member, m);
    if (layer.kind == LayerPlan::Kind::kConv) {
      auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
          g, x, slice.weight, slice.bias.sizes(), {layer.stride, layer.stride}, {layer.padding, layer.padding}, {1, 1},
          /*transposed=*/false, {0, 0}, /*groups=*/1, std::array<bool, 3>{wants_input, learns, learns});
      if (learns) {
        slice.weight_gradient.add_(weight_gradient);
        slice.bias_gradient.add_(bias_gradient);
      }
      input_gradients.push_back(input_gradient);
      continue;
    }
    if (learns) {
      Tensor weight_gradient = slice.weight_gradient;
      Tensor bias_gradient = slice.bias_gradient;
      weight_gradient.addmm_(g.t(), x);
      if (!bias_is_done) {
        bias_gradient.add_(g.sum(0));
      }
    }
    if (wants_input) {
      input_gradients.push_back(at::mm(g, slice.weight));
    }
  }
  if (!wants_input) {
    return Tensor();
  }
  if (!members.has_value()) {
    return input_gradients[0];
  }
  const Tensor all = at::stack(input_gradients);
  return by_member ? all : all.sum(0);
}

// The chain's node in autograd's graph. Its inputs are the chain's outputs, its outputs the chain's input and the
// parameters' leaf. It returns nothing for the leaf, whose gradient it has already added.
class Chain::Backward : public torch::autograd::Node {
 public:
  Backward(std::shared_ptr<const Layers> layers, std::vector<Layers::Saved> saved, c10::IntArrayRef input_shape)
      : layers_(std::move(layers)),
        saved_(std::move(saved)),
        input_shape_(input_shape.vec()),
        version_(layers_->values._version()) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(!saved_.empty(), "the graph of a loss was used twice");
    // Otherwise, after an optimizer's step between the two passes, the gradient would belong to neither.
    TORCH_CHECK(layers_->values._version() == version_,
                "a network's parameters were changed between its pass and the descent of a loss that uses it");
    TORCH_CHECK(!torch::GradMode::is_enabled(), "a chain of layers is differentiated once only");
    Tensor gradient = gradients[0];
    if (!gradient.defined()) {
      return {Tensor(), Tensor()};
    }
    const bool learns = task_should_compute_output(1);
    const bool wants_input = task_should_compute_output(0);
    for (size_t i = saved_.size(); i-- > 0;) {
      const Layers::Layer& layer = layers_->layers[i];
      if (gradient.sizes() != saved_[i].output.sizes()) {
        gradient = gradient.reshape(saved_[i].output.sizes());  // A dense layer flattened this layer's output.
      }
      gradient = layers_->BackThroughActivation(layer, saved_[i], gradient, learns);
      gradient = layers_->RunBack(layer, saved_[i], gradient, layers_->ByMember(saved_[i].input, i), learns,
                                  wants_input || i > 0);
    }
    // The first layer, a dense one, may have flattened its input.
    return {gradient.defined() ? gradient.reshape(input_shape_) : gradient, Tensor()};
  }

  void release_variables() override { saved_.clear(); }

 private:
  const std::shared_ptr<const Layers> layers_;
  std::vector<Layers::Saved> saved_;
  const std::vector<int64_t> input_shape_;
  const uint32_t version_;
};

Chain::Chain(const std::vector<const LayerPlan*>& plans, std::optional<int64_t> members, bool learns,
             FlatParameters* parameters) {
  auto layers = std::make_shared<Layers>();
  layers->members = members;
  const int64_t first = plans.front()->weight;
  const int64_t count = plans.back()->weight + 2 - first;
  layers->values = parameters->Run(first, count);
  if (learns) {
    layers->leaf = parameters->AddLeaf(first, count);
  }
  int64_t offset = 0;
  for (const LayerPlan* plan : plans) {
    Layers::Layer layer;
    layer.kind = plan->kind;
    layer.activation = plan->activation;
    layer.stride = plan->stride;
    layer.padding = plan->padding;
    const auto slice = [&](const Tensor& weight, const Tensor& bias, const Tensor& weight_gradient,
                           const Tensor& bias_gradient) {
      return Layers::Slice{weight, plan->kind == LayerPlan::Kind::kDense ? weight.transpose(-2, -1) : weight, bias,
                           weight_gradient, bias_gradient};
    };
    const auto index = static_cast<size_t>(plan->weight);
    const Tensor& weight = parameters->value_views()[index];
    const Tensor& bias = parameters->value_views()[index + 1];
    const Tensor none;
    const Tensor& weight_gradient = learns ? parameters->gradient_views()[index] : none;
    const Tensor& bias_gradient = learns ? parameters->gradient_views()[index + 1] : none;
    layer.all = slice(weight, bias, weight_gradient, bias_gradient);
    for (int64_t m = 0; m < members.value_or(1); ++m) {
      const auto of = [&](const Tensor& all) { return members.has_value() && all.defined() ? all.select(0, m) : all; };
      layer.members.push_back(slice(of(weight), of(bias), of(weight_gradient), of(bias_gradient)));
    }
    layer.weight_offset = offset;
    layer.bias_offset = offset + weight.numel();
    offset = layer.bias_offset + bias.numel();
    layers->layers.push_back(std::move(layer));
  }
  layers_ = std::move(layers);
}

Tensor Chain::operator()(const Tensor& input) const {
  const bool learns = layers_->leaf.defined();
  if (!torch::GradMode::is_enabled() || !(learns || input.requires_grad())) {
    return layers_->Run(input, nullptr);
  }
  std::vector<Layers::Saved> saved;
  saved.reserve(layers_->layers.size());
  Tensor output;
  {
    const torch::NoGradGuard no_grad;
    output = layers_->Run(input.detach(), &saved);
    output = output.detach();  // Otherwise a saved tensor would hold the graph that holds it.
  }
  const auto node = MakeNode<Backward>(layers_, std::move(saved), input.sizes());
  node->set_next_edges(torch::autograd::collect_next_edges(input, layers_->leaf));
  torch::autograd::create_gradient_edge(output, node);
  return output;
}

Tensor Chain::ByAutograd(const Tensor& input) const {
  Tensor features = input;
  for (size_t i = 0; i < layers_->layers.size(); ++i) {
    const Layers::Layer& layer = layers_->layers[i];
    const Tensor& values = layers_->leaf.defined() ? layers_->leaf : layers_->values;
    const auto part = [&](int64_t offset, const Tensor& like) {
      return values.narrow(0, offset, like.numel()).view(like.sizes());
    };
    const Tensor weight = part(layer.weight_offset, layer.all.weight);
    const Tensor bias = part(layer.bias_offset, layer.all.bias);
    const bool by_member = layers_->ByMember(features, i);
    if (layer.kind == LayerPlan::Kind::kDense) {
      features = Layers::Flat(features, by_member);
    }
    std::vector<Tensor> outputs;
    for (size_t m = 0; m < layer.members.size(); ++m) {
      const Tensor x = Member(features, by_member, m);
      const Tensor w = Member(weight, layers_->members.has_value(), m);
      const Tensor b = Member(bias, layers_->members.has_value(), m);
      outputs.push_back(Activate(layer.activation, layer.kind == LayerPlan::Kind::kConv
                                                       ? torch::conv2d(x, w, b, layer.stride, layer.padding)
                                                       : torch::linear(x, w, b)));
    }
    features = layers_->members.has_value() ? torch::stack(outputs) : outputs[0];
  }
  return features;
}

}  // namespace waggle
