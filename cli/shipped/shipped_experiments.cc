#include "cli/shipped/shipped_experiments.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/config/config_errors.h"
#include "common/config/config_reader.h"
#include "common/config/experiment/sections.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr absl::string_view kSuffix = ".yaml";

absl::StatusOr<std::vector<std::string>> ShippedNames(const std::string& folder) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFolder(folder));
  std::vector<std::string> names;
  for (const std::string& file : files) {
    absl::string_view name = file;
    if (absl::ConsumeSuffix(&name, kSuffix)) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string FileOf(const std::string& folder, const std::string& name) {
  return std::filesystem::path(absl::StrCat(folder, "/", name, kSuffix)).lexically_normal();
}

// The first sentence of the comment that a text begins with.
std::string FirstSentence(absl::string_view text) {
  std::string comment;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "#")) {
      break;
    }
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      break;
    }
    absl::StrAppend(&comment, comment.empty() ? "" : " ", line);
  }
  return comment.substr(0, comment.find(". "));
}

std::string AlgorithmName(const YamlNode& root) {
  const YamlEntry* const section = root.Find("algorithm");
  const YamlEntry* const name = section == nullptr ? nullptr : section->value.Find("name");
  return name == nullptr ? "" : name->value.text;
}

absl::StatusOr<ShippedExperiment> ReadShipped(const std::string& folder, const std::string& name) {
  const std::string path = FileOf(folder, name);
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadYamlFile(path));
  WAGGLE_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, path));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  EnvironmentOptions environment;
  reader.Section("environment", &environment);
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  return ShippedExperiment{name, AlgorithmName(root), environment.name, FirstSentence(text)};
}

}  // namespace

std::string ShippedFolder(const std::string& binary_folder) {
  return absl::StrCat(binary_folder, "/../share/waggle/configs");
}

absl::StatusOr<std::vector<ShippedExperiment>> ListShipped(const std::string& folder) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ShippedNames(folder));
  std::vector<ShippedExperiment> experiments;
  for (const std::string& name : names) {
    WAGGLE_ASSIGN_OR_RETURN(ShippedExperiment experiment, ReadShipped(folder, name));
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

std::string ShippedText(const std::vector<ShippedExperiment>& experiments) {
  size_t name = 0;
  size_t algorithm = 0;
  size_t environment = 0;
  for (const ShippedExperiment& experiment : experiments) {
    name = std::max(name, experiment.name.size());
    algorithm = std::max(algorithm, experiment.algorithm.size());
    environment = std::max(environment, experiment.environment.size());
  }
  const auto padded = [](const std::string& text, size_t width) {
    return text + std::string(width - text.size() + 2, ' ');
  };
  std::string text;
  for (const ShippedExperiment& experiment : experiments) {
    absl::StrAppend(&text, padded(experiment.name, name), padded(experiment.algorithm, algorithm),
                    padded(experiment.environment, environment), experiment.description, "\n");
  }
  return text;
}

absl::StatusOr<std::string> ShippedFile(const std::string& folder, const std::string& name) {
  const absl::StatusOr<std::vector<std::string>> names = ShippedNames(folder);
  if (!names.ok() || std::find(names->begin(), names->end(), name) == names->end()) {
    return absl::NotFoundError(
        absl::StrCat("got \"", name, "\"; wanted a file, or an experiment that `waggle configs` lists",
                     names.ok() ? DidYouMean(name, *names) : absl::StrCat(" (", names.status().message(), ")")));
  }
  return FileOf(folder, name);
}

absl::StatusOr<std::string> ExperimentFile(const std::string& folder, const std::string& word) {
  struct stat facts = {};
  const bool is_file = stat(word.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode);
  if (is_file || word.empty() || word.find_first_of("./") != std::string::npos) {
    return word;
  }
  return ShippedFile(folder, word);
}

}  // namespace waggle
