#pragma once

#include <map>
#include <string>

#include "common/nn/torch.h"
#include "common/rl/batches.h"
#include "common/rl/observations.h"

namespace waggle {

// The steps of unrolls without the row behind the last one, [T, rows, …], of which an algorithm learns in parts. May
// throw as LibTorch does.
struct UnrollSteps {
  explicit UnrollSteps(const Unrolls& unrolls);

  // What else an algorithm knows of each step, by name: [T, rows, …]. It must be there.
  const torch::Tensor& at(const std::string& name) const { return columns.at(name); }

  // Every step as a row of its own, [1, T * rows, …], before which there is no state.
  UnrollSteps Flattened() const;
  // The rows of these indices, int64.
  UnrollSteps Select(const torch::Tensor& rows) const;

  Observations observation;
  torch::Tensor first, action, counts;  // As Unrolls has them.
  torch::Tensor core_state;             // [rows, values]: before the first step; undefined where there is none.
  std::map<std::string, torch::Tensor> columns;

 private:
  template <class Change>
  UnrollSteps With(const Change& change) const;
};

}  // namespace waggle
