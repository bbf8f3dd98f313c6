#include "common/rl/kit/unroll_steps.h"

#include "absl/strings/str_cat.h"

namespace waggle {

using torch::Tensor;

UnrollSteps::UnrollSteps(const Unrolls& unrolls)
    : first(Unrolls::Steps(unrolls.first)),
      action(Unrolls::Steps(unrolls.action)),
      counts(unrolls.counts),
      core_state(unrolls.core_state) {
  for (const Tensor& leaf : unrolls.observation) {
    observation.push_back(Unrolls::Steps(leaf));
  }
}

// Applies `change` to all fields that have a time dimension.
template <class Change>
UnrollSteps UnrollSteps::With(const Change& change) const {
  UnrollSteps changed = *this;
  for (Tensor& leaf : changed.observation) {
    leaf = change(leaf);
  }
  for (Tensor* const field : {&changed.first, &changed.action, &changed.counts}) {
    *field = change(*field);
  }
  for (auto& [name, column] : changed.columns) {
    column = change(column);
  }
  return changed;
}

UnrollSteps UnrollSteps::Flattened() const {
  UnrollSteps flat = With([](const Tensor& field) { return field.flatten(0, 1).unsqueeze(0); });
  flat.core_state = Tensor();
  return flat;
}

UnrollSteps UnrollSteps::Select(const Tensor& rows) const {
  UnrollSteps chosen = With([&rows](const Tensor& field) { return field.index_select(1, rows); });
  chosen.core_state = core_state.defined() ? core_state.index_select(0, rows) : core_state;
  return chosen;
}

UnrollSteps UnrollSteps::Copy() const {
  UnrollSteps copy = With([](const Tensor& field) { return field.clone(at::MemoryFormat::Contiguous); });
  copy.core_state = core_state.defined() ? core_state.clone() : core_state;
  return copy;
}

void UnrollSteps::VisitState(StateVisitor* visitor, torch::Device device) {
  for (size_t i = 0; i < observation.size(); ++i) {
    visitor->AnyTensor(absl::StrCat("observation", i), &observation[i], device);
  }
  visitor->AnyTensor("first", &first, device);
  visitor->AnyTensor("action", &action, device);
  visitor->AnyTensor("counts", &counts, device);
  visitor->AnyTensor("core_state", &core_state, device);
  for (auto& [name, column] : columns) {
    visitor->AnyTensor(absl::StrCat("column_", name), &column, device);
  }
}

}  // namespace waggle
