#pragma once

#include <map>
#include <string>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/observations.h"

namespace waggle {

// The T steps of unrolls, [T, rows, …], for algorithms that learn from parts of them. May throw as LibTorch does.
struct UnrollSteps {
  UnrollSteps() = default;
  explicit UnrollSteps(const Unrolls& unrolls);

  // An algorithm's own column, [T, rows, …]. It must exist.
  const torch::Tensor& at(const std::string& name) const { return columns.at(name); }

  // Each step as a row of its own, [1, T * rows, …], without state.
  UnrollSteps Flattened() const;
  // The rows of these int64 indices.
  UnrollSteps Select(const torch::Tensor& rows) const;
  // In memory of its own, for steps that are kept beyond an update.
  UnrollSteps Copy() const;

  // Visits steps that are kept. Loading needs the leaves and the columns, by name, that were saved; they may be
  // undefined.
  void VisitState(StateVisitor* visitor, torch::Device device);

  Observations observation;
  torch::Tensor first, action, counts;  // As in Unrolls.
  torch::Tensor core_state;             // [rows, values]: before the first step; may be undefined.
  std::map<std::string, torch::Tensor> columns;

 private:
  template <class Change>
  UnrollSteps With(const Change& change) const;
};

}  // namespace waggle
