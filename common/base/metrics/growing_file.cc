#include "common/base/metrics/growing_file.h"

#include <sys/stat.h>

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
}

bool GrowingFile::IsRemoved() const {
  struct stat facts = {};
  return file_.is_open() && fstat(file_.descriptor(), &facts) == 0 && facts.st_nlink == 0;
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
  if (!file_.is_open() && !kept_.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(file_, open_());
  }
  if (absl::Status status = file_.WriteAt(size_, kept_); !status.ok()) {
    // If not even this works, a part of a piece stays until the next Flush() writes over it.
    file_.Truncate(size_).IgnoreError();
    return status;
  }
  size_ += static_cast<int64_t>(kept_.size());
  kept_.clear();
  return absl::OkStatus();
}

}  // namespace waggle
