#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace waggle {

// The folder of this process's executable.
std::string OwnFolder();

// The path of an executable: `name` itself if it has a slash, otherwise the first one in the folders of PATH, so that
// an activated virtual environment comes first. NOT_FOUND if there is none.
absl::StatusOr<std::string> FindProgram(const std::string& name);

}  // namespace waggle
