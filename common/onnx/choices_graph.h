#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/onnx/onnx_graph.h"

namespace waggle {

// Stand for illegal choices among logarithms of probabilities and among values, as in common/rl/kit.
inline constexpr double kIllegalLogProb = -1e9;
inline constexpr double kIllegalValue = -1e9;

// Choices of elements side by side, [..., sum of num_values], each element by itself.

// The mask, with all choices legal for each element that has no legal one.
OnnxValue LegalChoices(OnnxGraph* graph, const OnnxValue& mask, const std::vector<int64_t>& num_values);

// Logarithms of the choices' probabilities. `legal` is LegalChoices'.
OnnxValue LogProbabilities(OnnxGraph* graph, const OnnxValue& logits, const std::vector<int64_t>& num_values,
                           const std::optional<OnnxValue>& legal);

// The index of each element's first largest number, int64 [..., elements].
OnnxValue BestChoices(OnnxGraph* graph, const OnnxValue& numbers, const std::vector<int64_t>& num_values);

// int64 choices [rows, elements] as vectors of a one and zeros for each element, float32 [rows, sum of num_values].
OnnxValue OneHots(OnnxGraph* graph, const OnnxValue& choices, const std::vector<int64_t>& num_values);

}  // namespace waggle
