#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/tensor/array_spec.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The layout of a request for actions and of its answer (inference.proto): arrays [rows, …], back to back.
struct ActLayout {
  ActLayout() = default;
  // `policy_columns` and `private_columns` are a Policy's.
  ActLayout(const EnvironmentSpec& environment, const std::vector<ArraySpec>& policy_columns,
            const std::vector<std::string>& private_columns)
      : private_values(private_columns.size()) {
    for (const SpaceLeaf& leaf : environment.observations) {
      observations.push_back(static_cast<size_t>(leaf.array.NumBytes()));
    }
    for (const SpaceLeaf& leaf : environment.actions) {
      actions.push_back(static_cast<size_t>(leaf.array.NumBytes()));
    }
    for (const ArraySpec& column : policy_columns) {
      columns.push_back(static_cast<size_t>(column.NumBytes()));
    }
  }

  // Bytes of a row.
  size_t RequestBytes() const { return 1 + Sum(observations); }
  size_t ResponseBytes() const { return Sum(actions) + Sum(columns) + private_values * sizeof(float); }

  std::vector<size_t> observations;  // Bytes of a row of each leaf.
  std::vector<size_t> actions;
  std::vector<size_t> columns;
  size_t private_values = 0;

 private:
  static size_t Sum(const std::vector<size_t>& sizes) {
    size_t sum = 0;
    for (const size_t size : sizes) {
      sum += size;
    }
    return sum;
  }
};

}  // namespace waggle
