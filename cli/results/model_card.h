#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace waggle {

// The content of a card's folder.
struct CardContents {
  std::string experiment_yaml;     // With all values.
  bool has_curves = false;         // curves.png.
  bool has_policy = false;         // policy.onnx.
  std::vector<std::string> films;  // "films/episode-0.webp".
};

// The text of a model card: Markdown with front matter as the Hugging Face Hub reads it. `summary` is a run's
// summary.json. INVALID_ARGUMENT, naming what is missing or wrong in it, if no run has written it;
// FAILED_PRECONDITION if it has no result.
absl::StatusOr<std::string> ModelCard(const nlohmann::ordered_json& summary, const CardContents& contents);

// Begins each card's front matter.
inline constexpr char kCardBeginning[] = "---\nlibrary_name: waggle\n";

}  // namespace waggle
