#include "cli/results/draft_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<DraftFolder>> DraftFolder::Create(const std::string& final_folder) {
  const std::string parent = ParentFolder(final_folder);
  WAGGLE_RETURN_IF_ERROR(CreateFolders(parent));
  std::string path = absl::StrCat(parent, "/.waggle-draft-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return FileError(errno, path, "create it");
  }
  chmod(path.c_str(), 0755);  // Others may read results.
  return std::unique_ptr<DraftFolder>(new DraftFolder(path, final_folder));
}

DraftFolder::~DraftFolder() {
  RemoveAll(path_).IgnoreError();
}

std::string DraftFolder::File(const std::string& name) const {
  return absl::StrCat(path_, "/", name);
}

absl::Status DraftFolder::Finish() {
  const std::string earlier = absl::StrCat(path_, ".earlier");
  std::error_code error;
  const bool replaces = std::filesystem::is_directory(final_folder_, error);
  if (replaces) {
    WAGGLE_RETURN_IF_ERROR(Rename(final_folder_, earlier));
  }
  if (const absl::Status moved = Rename(path_, final_folder_); !moved.ok()) {
    if (replaces) {
      Rename(earlier, final_folder_).IgnoreError();
    }
    return moved;
  }
  return RemoveAll(earlier);
}

}  // namespace waggle
