#include "common/nn/recurrent_core.h"

#include <utility>
#include <vector>

#include "common/nn/recurrence.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

using torch::Tensor;

// The state after a step, from the gates' products with input and earlier output.
std::vector<Tensor> LstmStep(const Tensor& input, const Tensor& recurrent, const std::vector<Tensor>& before) {
  const std::vector<Tensor> gates = (input + recurrent).chunk(4, -1);
  const Tensor cell = gates[1].sigmoid() * before[1] + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}

std::vector<Tensor> GruStep(const Tensor& input, const Tensor& recurrent, const std::vector<Tensor>& before) {
  const std::vector<Tensor> in = input.chunk(3, -1);
  const std::vector<Tensor> back = recurrent.chunk(3, -1);
  const Tensor update = (in[1] + back[1]).sigmoid();
  const Tensor proposed = (in[2] + (in[0] + back[0]).sigmoid() * back[2]).tanh();
  return {proposed + update * (before[0] - proposed)};
}

// Zeroes the parts of a state or its gradient in rows that begin an episode.
void BeginEpisodes(const Tensor& first, int64_t step, std::vector<Tensor>* parts) {
  if (first.defined()) {
    const Tensor begins = first.select(0, step).unsqueeze(-1);
    for (Tensor& part : *parts) {
      part = part.masked_fill(begins, 0);
    }
  }
}

}  // namespace

struct RecurrentCore::Parameters {
  CorePlan plan;
  Tensor values;  // All four, in one run.
  Tensor leaf;    // Autograd's; undefined if nothing is learned.
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  std::vector<Tensor> gradients;  // In the same order; empty if nothing is learned.

  bool is_lstm() const { return plan.kind == CorePlan::Kind::kLstm; }
  // All gates' products with the input, [T, rows, gates * units].
  Tensor Inputs(const Tensor& features, int64_t rows) const {
    return at::addmm(is_lstm() ? bias_ih + bias_hh : bias_ih, features, weight_ih.t())
        .view({-1, rows, plan.gates() * plan.units});
  }

  // `saved` may be null.
  Unrolled Run(const Tensor& features, const Tensor& first, const Tensor& state,
               std::vector<RecurrentStep>* saved) const;
};

RecurrentCore::Unrolled RecurrentCore::Parameters::Run(const Tensor& features, const Tensor& first, const Tensor& state,
                                                       std::vector<RecurrentStep>* saved) const {
  const std::vector<Tensor> gates = Inputs(features, state.size(0)).unbind();
  const Tensor outputs = at::empty({features.size(0), plan.units}, features.options());
  const std::vector<Tensor> output = outputs.split(state.size(0));
  std::vector<Tensor> now = state.split(plan.units, 1);
  for (size_t t = 0; t < gates.size(); ++t) {
    BeginEpisodes(first, static_cast<int64_t>(t), &now);
    RecurrentStep step;
    step.before = std::move(now);
    now = Forward(plan.kind, weight_hh, bias_hh, gates[t], output[t], &step);
    if (saved != nullptr) {
      saved->push_back(std::move(step));
    }
  }
  return {outputs, at::cat(now, 1)};
}

// The unroll's node in autograd's graph. Its inputs are the outputs and the final state. Its outputs are the features,
// the initial state and the parameters' leaf, for which it returns nothing: it has already added that gradient.
class RecurrentCore::Backward : public torch::autograd::Node {
 public:
  Backward(std::shared_ptr<const Parameters> parameters, Tensor features, Tensor first, int64_t rows,
           std::vector<RecurrentStep> steps)
      : parameters_(std::move(parameters)),
        features_(std::move(features)),
        first_(std::move(first)),
        rows_(rows),
        steps_(std::move(steps)),
        version_(parameters_->values._version()) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(!steps_.empty(), "the graph of a loss was used twice");
    // Otherwise, after an optimizer's step between the two passes, the gradient would belong to neither.
    TORCH_CHECK(parameters_->values._version() == version_,
                "a network's parameters were changed between its pass and the descent of a loss that uses it");
    TORCH_CHECK(!torch::GradMode::is_enabled(), "a recurrent core is differentiated once only");
    const CorePlan& plan = parameters_->plan;
    const int64_t width = plan.gates() * plan.units;
    const Tensor by_input = at::empty({features_.size(0), width}, features_.options());
    const Tensor by_output = parameters_->is_lstm() ? by_input : at::empty_like(by_input);
    const std::vector<Tensor> by = BackThroughSteps(gradients[0], gradients[1], by_input, by_output);
    if (task_should_compute_output(2)) {
      AddParameters(by_input, by_output);
    }
    return {task_should_compute_output(0) ? at::mm(by_input, parameters_->weight_ih) : Tensor(),
            task_should_compute_output(1) ? at::cat(by, 1) : Tensor(), Tensor()};
  }

  void release_variables() override { steps_.clear(); }

 private:
  // The gradients by the parts of the initial state. Either given gradient may be undefined.
  std::vector<Tensor> BackThroughSteps(const Tensor& by_outputs, const Tensor& by_state, const Tensor& by_input,
                                       const Tensor& by_output) const {
    const CorePlan& plan = parameters_->plan;
    std::vector<Tensor> by = (by_state.defined() ? by_state : at::zeros({rows_, plan.state_size()}, by_input.options()))
                                 .split(plan.units, 1);
    for (size_t t = steps_.size(); t-- > 0;) {
      const auto at = static_cast<int64_t>(t) * rows_;
      if (by_outputs.defined()) {
        by[0] = by[0] + by_outputs.narrow(0, at, rows_);
      }
      Back(plan.kind, parameters_->weight_hh, steps_[t], by_input.narrow(0, at, rows_), by_output.narrow(0, at, rows_),
           &by);
      BeginEpisodes(first_, static_cast<int64_t>(t), &by);
    }
    return by;
  }

  void AddParameters(const Tensor& by_input, const Tensor& by_output) const {
    std::vector<Tensor> before;
    for (const RecurrentStep& step : steps_) {
      before.push_back(step.before[0]);
    }
    std::vector<Tensor> into = parameters_->gradients;
    into[0].addmm_(by_input.t(), features_);
    into[1].addmm_(by_output.t(), at::cat(before));
    const Tensor sum = by_input.sum(0);
    into[2].add_(sum);
    into[3].add_(parameters_->is_lstm() ? sum : by_output.sum(0));
  }

  const std::shared_ptr<const Parameters> parameters_;
  const Tensor features_;
  const Tensor first_;
  const int64_t rows_;
  std::vector<RecurrentStep> steps_;
  const uint32_t version_;
};

RecurrentCore::RecurrentCore(const CorePlan& plan, bool learns, FlatParameters* parameters) {
  auto own = std::make_shared<Parameters>();
  own->plan = plan;
  own->values = parameters->Run(plan.weight, 4);
  if (learns) {
    own->leaf = parameters->AddLeaf(plan.weight, 4);
  }
  const auto index = static_cast<size_t>(plan.weight);
  own->weight_ih = parameters->value_views()[index];
  own->weight_hh = parameters->value_views()[index + 1];
  own->bias_ih = parameters->value_views()[index + 2];
  own->bias_hh = parameters->value_views()[index + 3];
  for (size_t i = index; learns && i < index + 4; ++i) {
    own->gradients.push_back(parameters->gradient_views()[i]);
  }
  parameters_ = std::move(own);
}

RecurrentCore::Unrolled RecurrentCore::operator()(const Tensor& features, const Tensor& first,
                                                  const Tensor& state) const {
  const bool learns = parameters_->leaf.defined();
  if (!torch::GradMode::is_enabled() || !(learns || features.requires_grad() || state.requires_grad())) {
    return parameters_->Run(features, first, state, nullptr);
  }
  std::vector<RecurrentStep> steps;
  Unrolled unrolled;
  {
    const torch::NoGradGuard no_grad;
    unrolled = parameters_->Run(features.detach(), first, state.detach(), &steps);
    unrolled.outputs = unrolled.outputs.detach();  // Otherwise a saved tensor would hold the graph that holds it.
  }
  const auto node = MakeNode<Backward>(parameters_, features.detach(), first, state.size(0), std::move(steps));
  node->set_next_edges(torch::autograd::collect_next_edges(features, state, parameters_->leaf));
  torch::autograd::create_gradient_edge(unrolled.outputs, node);
  torch::autograd::create_gradient_edge(unrolled.state, node);
  return unrolled;
}

RecurrentCore::Unrolled RecurrentCore::ByAutograd(const Tensor& features, const Tensor& first,
                                                  const Tensor& state) const {
  const Parameters& own = *parameters_;
  const Tensor& values = own.leaf.defined() ? own.leaf : own.values;
  int64_t offset = 0;
  const auto part = [&](const Tensor& like) {
    offset += like.numel();
    return values.narrow(0, offset - like.numel(), like.numel()).view(like.sizes());
  };
  const Tensor weight_ih = part(own.weight_ih);
  const Tensor weight_hh = part(own.weight_hh);
  const Tensor bias_ih = part(own.bias_ih);
  const Tensor bias_hh = part(own.bias_hh);
  std::vector<Tensor> now = state.split(own.plan.units, 1);
  std::vector<Tensor> outputs;
  for (const Tensor& input : torch::linear(features, weight_ih, bias_ih).split(state.size(0))) {
    BeginEpisodes(first, static_cast<int64_t>(outputs.size()), &now);
    const Tensor recurrent = torch::linear(now[0], weight_hh, bias_hh);
    now = own.is_lstm() ? LstmStep(input, recurrent, now) : GruStep(input, recurrent, now);
    outputs.push_back(now[0]);
  }
  return {torch::cat(outputs), torch::cat(now, 1)};
}

}  // namespace waggle
