#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waggle {

// A new folder beside its final place. Finish moves it there; otherwise the destructor removes it. Blocks on the disk.
class DraftFolder {
 public:
  // `final_folder` need not exist; its parents are made.
  static absl::StatusOr<std::unique_ptr<DraftFolder>> Create(const std::string& final_folder);
  ~DraftFolder();
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const;

  // Moves the folder to its final place. A folder that is there is replaced.
  absl::Status Finish();

 private:
  DraftFolder(std::string path, std::string final_folder)
      : path_(std::move(path)), final_folder_(std::move(final_folder)) {}

  const std::string path_;
  const std::string final_folder_;
};

}  // namespace waggle
