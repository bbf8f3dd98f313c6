#include "common/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/file.h"

namespace waggle {
namespace {

constexpr char kFolder[] = "/sys/fs/cgroup";

// Lowers `bytes` to the file's limit. Without a limit the file is missing, not a number, or huge.
void Apply(const std::string& file, int64_t* bytes) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file, 64);
  int64_t limit = 0;
  if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &limit) && limit > 0) {
    *bytes = std::min(*bytes, limit);
  }
}

// Applies the limits of a control group and its ancestors up to `folder`'s root, often a container's own group.
void ApplyUpwards(const std::string& folder, absl::string_view group, const std::string& file, int64_t* bytes) {
  std::vector<std::string> names;
  for (const absl::string_view name : absl::StrSplit(group, '/', absl::SkipEmpty())) {
    if (name == "..") {
      names.clear();  // Outside of the visible tree.
    } else {
      names.emplace_back(name);
    }
  }
  for (;; names.pop_back()) {
    Apply(absl::StrCat(folder, "/", absl::StrJoin(names, "/"), names.empty() ? "" : "/", file), bytes);
    if (names.empty()) {
      return;
    }
  }
}

}  // namespace

int64_t MachineMemoryBytes(const std::string& root) {
  constexpr size_t kMaxGroupsBytes = size_t{64} << 10;
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  // Lines are NUMBER:CONTROLLERS:GROUP; version 2 has number 0 and no controllers. Roots count if this is unreadable.
  const std::string groups = ReadSmallFile(absl::StrCat(root, "/proc/self/cgroup"), kMaxGroupsBytes).value_or("");
  std::string group;       // Version 2's.
  std::string old_memory;  // Version 1's memory controller's.
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) {
      continue;
    }
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (parts[0] == "0" && parts[1].empty()) {
      group = std::string(parts[2]);
    } else if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end()) {
      old_memory = std::string(parts[2]);
    }
  }
  const std::string folder = absl::StrCat(root, kFolder);
  ApplyUpwards(folder, group, "memory.max", &bytes);
  ApplyUpwards(absl::StrCat(folder, "/unified"), group, "memory.max", &bytes);  // If both versions are used.
  ApplyUpwards(absl::StrCat(folder, "/memory"), old_memory, "memory.limit_in_bytes", &bytes);
  return bytes;
}

int64_t ResidentBytes() {
  constexpr size_t kMaxLine = 4096;
  const std::string sizes = ReadSmallFile("/proc/self/statm", kMaxLine).value_or("");
  const std::vector<absl::string_view> pages = absl::StrSplit(sizes, ' ');
  int64_t resident = 0;
  return pages.size() > 1 && absl::SimpleAtoi(pages[1], &resident) ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace waggle
