#include "common/base/process/find_program.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace waggle {

std::string OwnFolder() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  const std::string executable(path, size > 0 ? static_cast<size_t>(size) : 0);
  return executable.substr(0, executable.rfind('/'));
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) == 0) {
      return name;
    }
    return absl::NotFoundError(absl::StrCat("there is no program ", name));
  }
  const char* const path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    std::string program = absl::StrCat(folder, "/", name);
    if (access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return absl::NotFoundError(absl::StrCat("PATH has no program ", name));
}

}  // namespace waggle
