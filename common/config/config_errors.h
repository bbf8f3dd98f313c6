#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/yaml_node.h"

namespace waggle {

// Gathers all errors of a configuration, so that a user sees them at once. Not thread-safe.
class ConfigErrors {
 public:
  // `path` names the key ("learner.batch_size"); it may be empty.
  void Add(const SourcePosition& position, absl::string_view path, absl::string_view problem);

  int64_t count() const { return static_cast<int64_t>(errors_.size()); }
  // The first keys of all paths: "learner" of "learner.batch_size".
  std::set<std::string> sections() const;

  // OK if there are none; otherwise INVALID_ARGUMENT with one line each, "FILE:LINE: PATH: problem", in the order of
  // the file and then of the command line.
  absl::Status ToStatus() const;

 private:
  struct Error {
    SourcePosition position;
    std::string path;
    std::string problem;
  };
  std::vector<Error> errors_;
};

}  // namespace waggle
