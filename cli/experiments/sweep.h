#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace waggle {

// The experiments of a group differ in the values of some keys, which `waggle submit --sweep` and `--seeds` give.

constexpr size_t kMostSweptExperiments = 1'000;

// A key and the values that it takes, one after the other, as YAML.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

// "KEY=VALUE,VALUE". Commas within brackets, braces and quotes belong to a value. INVALID_ARGUMENT for text of another
// form, an empty value, and a value that is given twice.
absl::StatusOr<SweepAxis> ParseSweepAxis(const std::string& text);

// "1-5", "1,2,7" or both: "1-3,9". The axis of experiment.seed. INVALID_ARGUMENT as above.
absl::StatusOr<SweepAxis> ParseSeeds(const std::string& text);

// The values of each experiment, {"algorithm.optimizer.learning_rate", "1e-4"}: all combinations, the last axis
// varying fastest. No axis gives no experiment. INVALID_ARGUMENT for a key of two axes, or more than
// kMostSweptExperiments combinations.
using SweepValues = std::vector<std::pair<std::string, std::string>>;
absl::StatusOr<std::vector<SweepValues>> CombineAxes(const std::vector<SweepAxis>& axes);

}  // namespace waggle
