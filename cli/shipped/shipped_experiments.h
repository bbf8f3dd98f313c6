#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The experiments of configs/, which are installed beside the executables: `waggle configs`, and names in place of
// files.

namespace waggle {

struct ShippedExperiment {
  std::string name;  // The file's name, without .yaml.
  std::string algorithm;
  std::string environment;
  std::string description;  // The first sentence of the file's comment.
};

// The folder of these experiments, of an executable in `binary_folder`.
std::string ShippedFolder(const std::string& binary_folder);

// All of them, by name. NOT_FOUND if there is no folder; INVALID_ARGUMENT, naming the file, if one cannot be read.
absl::StatusOr<std::vector<ShippedExperiment>> ListShipped(const std::string& folder);
// One line each.
std::string ShippedText(const std::vector<ShippedExperiment>& experiments);

// The file of the experiment `name`. NOT_FOUND, with the nearest name, if there is none.
absl::StatusOr<std::string> ShippedFile(const std::string& folder, const std::string& name);
// The file that a user means by `word`: itself if it is a file or looks like a file's name, as it has a dot or a slash;
// otherwise that of an experiment that ships. NOT_FOUND as above.
absl::StatusOr<std::string> ExperimentFile(const std::string& folder, const std::string& word);

}  // namespace waggle
