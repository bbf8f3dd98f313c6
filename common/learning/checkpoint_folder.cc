#include "common/learning/checkpoint_folder.h"

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Not one that any other run has: a name is used again from run to run.
std::string NewRun(const std::string& experiment) {
  std::random_device random;
  const uint64_t number = (static_cast<uint64_t>(random()) << 32) | random();
  return absl::StrCat(experiment, "-", absl::Hex(number, absl::kZeroPad16));
}

absl::Status Load(CheckpointStore* store, CheckpointFolder* folder) {
  WAGGLE_ASSIGN_OR_RETURN(folder->contents, store->LoadLatest());
  if (!folder->contents.has_value()) {
    return absl::NotFoundError(absl::StrCat("no checkpoint in ", folder->source));
  }
  // One that names no run goes on without a name: its later checkpoints stand beside it.
  const auto run = folder->contents->texts.find(kCheckpointRun);
  folder->run = run == folder->contents->texts.end() ? "" : run->second;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToWrite(const std::string& folder, int keep) {
  absl::StatusOr<std::unique_ptr<CheckpointStore>> store = CheckpointStore::Open(folder, keep);
  if (!absl::IsUnavailable(store.status())) {
    return store;
  }
  // The hub gives a seat to another when its process is silent, which may be alive all the same.
  LogWarning(store.status().message(), "; its checkpoints are read, and the next ones are written once it has ended");
  return CheckpointStore::OpenToTakeOver(folder, keep);
}

}  // namespace

absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const CheckpointFolderOptions& options) {
  CheckpointFolder folder;
  folder.run = NewRun(options.experiment);
  folder.source = options.restore_dir;
  if (std::error_code error; !folder.source.empty() && !std::filesystem::is_directory(folder.source, error)) {
    return absl::NotFoundError(absl::StrCat("restoring the learner: there is no folder ", folder.source));
  }
  bool same_folder = false;
  if (!options.output_dir.empty()) {
    const std::string written = absl::StrCat(options.output_dir, "/checkpoints");
    WAGGLE_ASSIGN_OR_RETURN(folder.store, OpenToWrite(written, options.keep));
    std::error_code error;
    same_folder = !folder.source.empty() && std::filesystem::equivalent(folder.source, written, error);
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> newest, folder.store->NewestStep());
    if (newest.has_value() && options.resume) {
      folder.source = written;
      same_folder = true;
    }
    if (newest.has_value() && !same_folder) {
      return absl::FailedPreconditionError(absl::StrCat(written, " holds the checkpoints of a run that came to step ",
                                                        *newest, ": another run is not to be written among them"));
    }
  }
  if (!folder.source.empty()) {
    std::unique_ptr<CheckpointStore> other;
    if (!same_folder) {
      WAGGLE_ASSIGN_OR_RETURN(other, CheckpointStore::OpenToRead(folder.source));
    }
    // Where it is the same folder it is the same store, which then knows what is damaged.
    WAGGLE_RETURN_IF_ERROR(
        Annotate(Load(same_folder ? folder.store.get() : other.get(), &folder), "restoring the learner"));
  }
  return folder;
}

}  // namespace waggle
