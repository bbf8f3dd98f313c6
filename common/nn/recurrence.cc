#include "common/nn/recurrence.h"

namespace waggle {
namespace {

using torch::Tensor;

std::vector<Tensor> ForwardLstm(const Tensor& weight_hh, Tensor gates, Tensor output, RecurrentStep* step) {
  const int64_t units = output.size(1);
  gates.addmm_(step->before[0], weight_hh.t());
  Tensor input_and_forget = gates.narrow(1, 0, 2 * units);
  const std::vector<Tensor> gate = gates.chunk(4, 1);
  at::sigmoid_(input_and_forget);
  gate[2].tanh_();
  gate[3].sigmoid_();
  Tensor cell = at::mul(gate[1], step->before[1]).addcmul_(gate[0], gate[2]);
  step->inner = cell.tanh();
  at::mul_out(output, gate[3], step->inner);
  step->gates = gates;
  return {output, cell};
}

std::vector<Tensor> ForwardGru(const Tensor& weight_hh, const Tensor& bias_hh, Tensor gates, Tensor output,
                               RecurrentStep* step) {
  const int64_t units = output.size(1);
  const Tensor recurrent = at::addmm(bias_hh, step->before[0], weight_hh.t());
  Tensor reset_and_update = gates.narrow(1, 0, 2 * units);
  const std::vector<Tensor> gate = gates.chunk(3, 1);
  reset_and_update.add_(recurrent.narrow(1, 0, 2 * units)).sigmoid_();
  step->inner = recurrent.narrow(1, 2 * units, units);
  gate[2].addcmul_(gate[0], step->inner).tanh_();
  at::lerp_out(output, gate[2], step->before[0], gate[1]);
  step->gates = gates;
  return {output};
}

void BackLstm(const Tensor& weight_hh, const RecurrentStep& step, const Tensor& by_gates,
              std::vector<Tensor>* gradients) {
  const std::vector<Tensor> gate = step.gates.chunk(4, 1);
  std::vector<Tensor> by = by_gates.chunk(4, 1);
  Tensor& output = (*gradients)[0];
  Tensor& cell = (*gradients)[1];
  cell = at::tanh_backward(output * gate[3], step.inner).add_(cell);
  at::sigmoid_backward_out(by[0], cell * gate[2], gate[0]);
  at::sigmoid_backward_out(by[1], cell * step.before[1], gate[1]);
  at::tanh_backward_out(by[2], cell * gate[0], gate[2]);
  at::sigmoid_backward_out(by[3], output * step.inner, gate[3]);
  cell.mul_(gate[1]);
  output = at::mm(by_gates, weight_hh);
}

void BackGru(const Tensor& weight_hh, const RecurrentStep& step, const Tensor& by_input, const Tensor& by_output,
             std::vector<Tensor>* gradients) {
  const std::vector<Tensor> gate = step.gates.chunk(3, 1);
  std::vector<Tensor> by = by_input.chunk(3, 1);
  const int64_t units = gate[0].size(1);
  Tensor& output = (*gradients)[0];
  const Tensor passed = output * gate[1];
  at::sigmoid_backward_out(by[1], output * (step.before[0] - gate[2]), gate[1]);
  at::tanh_backward_out(by[2], output - passed, gate[2]);
  at::sigmoid_backward_out(by[0], by[2] * step.inner, gate[0]);
  by_output.narrow(1, 0, 2 * units).copy_(by_input.narrow(1, 0, 2 * units));
  Tensor by_new = by_output.narrow(1, 2 * units, units);
  at::mul_out(by_new, by[2], gate[0]);
  output = at::addmm(passed, by_output, weight_hh);
}

}  // namespace

std::vector<Tensor> Forward(CorePlan::Kind kind, const Tensor& weight_hh, const Tensor& bias_hh, const Tensor& gates,
                            Tensor output, RecurrentStep* step) {
  return kind == CorePlan::Kind::kLstm ? ForwardLstm(weight_hh, gates, std::move(output), step)
                                       : ForwardGru(weight_hh, bias_hh, gates, std::move(output), step);
}

void Back(CorePlan::Kind kind, const Tensor& weight_hh, const RecurrentStep& step, const Tensor& by_input,
          const Tensor& by_output, std::vector<Tensor>* gradients) {
  if (kind == CorePlan::Kind::kLstm) {
    BackLstm(weight_hh, step, by_input, gradients);
  } else {
    BackGru(weight_hh, step, by_input, by_output, gradients);
  }
}

}  // namespace waggle
