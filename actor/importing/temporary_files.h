#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace waggle {

// A folder among temporary files, which is removed with all that is in it.
class TemporaryFiles {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFiles>> Create() {
    std::error_code failed;
    std::string folder = absl::StrCat(std::filesystem::temp_directory_path(failed).string(), "/waggle-XXXXXX");
    if (failed) {
      return absl::UnavailableError(absl::StrCat("the folder of temporary files: ", failed.message()));
    }
    if (mkdtemp(folder.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("making the folder ", folder));
    }
    return std::make_unique<TemporaryFiles>(folder);
  }
  explicit TemporaryFiles(std::string folder) : folder_(std::move(folder)) {}
  ~TemporaryFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string File(const char* name) const { return absl::StrCat(folder_, "/", name); }

 private:
  const std::string folder_;
};

}  // namespace waggle
