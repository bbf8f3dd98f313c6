#include "common/metrics/growing_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kMaxKeptMiB = 16;

}  // namespace

GrowingFile::~GrowingFile() {
  if (const absl::Status status = Flush(); !status.ok()) {
    LogWarning("the last ", kept_.size(), " bytes are lost: ", status.message());
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

bool GrowingFile::IsRemoved() const {
  struct stat facts = {};
  return descriptor_ >= 0 && fstat(descriptor_, &facts) == 0 && facts.st_nlink == 0;
}

absl::Status GrowingFile::MakeRoom() {
  if (kept_.size() <= kMaxKeptMiB << 20) {
    return absl::OkStatus();
  }
  return Annotate(Flush(), absl::StrCat(kMaxKeptMiB, " MiB are kept, and nothing more until they are written"));
}

absl::Status GrowingFile::Add(absl::string_view piece) {
  WAGGLE_RETURN_IF_ERROR(MakeRoom());
  absl::StrAppend(&kept_, piece);
  return absl::OkStatus();
}

absl::Status GrowingFile::Flush() {
  if (descriptor_ < 0 && !kept_.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(descriptor_, open_(&path_));
  }
  size_t done = 0;
  while (done < kept_.size()) {
    const ssize_t written =
        pwrite(descriptor_, kept_.data() + done, kept_.size() - done, size_ + static_cast<int64_t>(done));
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
      // If not even this works, a part of a piece stays until the next Flush() writes over it.
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
