#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waggle {

// A new folder that is filled beside its final place, and takes that once it is whole. Removed at the end otherwise.
// Blocks on the disk.
class DraftFolder {
 public:
  // `final_folder` need not exist; its parents are made.
  static absl::StatusOr<std::unique_ptr<DraftFolder>> Create(const std::string& final_folder);
  ~DraftFolder();
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const;

  // Gives the content to the final folder, in place of what is there.
  absl::Status Finish();

 private:
  DraftFolder(std::string path, std::string final_folder)
      : path_(std::move(path)), final_folder_(std::move(final_folder)) {}

  const std::string path_;
  const std::string final_folder_;
};

}  // namespace waggle
