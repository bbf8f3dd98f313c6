#pragma once

#include "common/nn/torch.h"

namespace waggle {

// The choice between a proposed action and the one before, for the critics' values of both, [...], and the worth of a
// nat of the choice's entropy: an action's probability is in proportion to exp(value / temperature). Section 4.2 of
// arXiv 2104.06521.
struct Switch {
  Switch(torch::Tensor value_of_repeated, torch::Tensor value_of_proposed, const torch::Tensor& temperature);

  torch::Tensor repeated, proposed;  // The values, [...].
  torch::Tensor probability;         // [...]: of the proposed one.
  torch::Tensor entropy;             // [...], in nats.

  // [...]: before the choice.
  torch::Tensor Value() const { return repeated + probability * (proposed - repeated); }
};

// Returns, [T, rows], of actions in sequences: rewards are summed while the acting policy repeated its action, weighed
// by the probability that the present one would; for the rest a value takes over. It is the expectation of the paper's
// compare-through returns over the present policy's choices. `reward` and `discount` are [T, rows]. `repeats`, bool
// [T, rows], is true for steps that exist and repeat the action before. The next step's choices, [T + 1, rows], are the
// present policy's. Values after a discount of 0 do not count. A constant.
torch::Tensor CompareThroughReturns(const torch::Tensor& reward, const torch::Tensor& discount,
                                    const torch::Tensor& repeats, const Switch& choices);

}  // namespace waggle
