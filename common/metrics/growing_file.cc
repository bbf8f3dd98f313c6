#include "common/metrics/growing_file.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kMaxKeptBytes = 16 << 20;

}  // namespace

GrowingFile::~GrowingFile() {
  if (const absl::Status status = Flush(); !status.ok()) {
    LogWarning("the last ", kept_.size(), " bytes are lost: ", status.message());
  }
  close(descriptor_);
}

absl::Status GrowingFile::Add(absl::string_view piece) {
  if (kept_.size() > kMaxKeptBytes) {
    WAGGLE_RETURN_IF_ERROR(Flush());
  }
  absl::StrAppend(&kept_, piece);
  return absl::OkStatus();
}

absl::Status GrowingFile::Flush() {
  size_t done = 0;
  while (done < kept_.size()) {
    const ssize_t written =
        pwrite(descriptor_, kept_.data() + done, kept_.size() - done, size_ + static_cast<int64_t>(done));
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
      // Where not even this works, a part of a piece stays until the next Flush() writes over it.
      const int ignored = ftruncate(descriptor_, size_);
      static_cast<void>(ignored);
      return status;
    }
  }
  size_ += static_cast<int64_t>(done);
  kept_.clear();
  return absl::OkStatus();
}

}  // namespace waggle
