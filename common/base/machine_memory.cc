#include "common/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"

namespace waggle {

int64_t MachineMemoryBytes(const std::string& root) {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  // As a container sees them: its own group is the root. The first is version 2's, the other version 1's; both have
  // something that is no number, or a huge one, where there is no limit.
  for (const char* const file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const absl::StatusOr<std::string> text = ReadSmallFile(absl::StrCat(root, file), 64);
    int64_t limit = 0;
    if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &limit) && limit > 0) {
      bytes = std::min(bytes, limit);
    }
  }
  return bytes;
}

}  // namespace waggle
