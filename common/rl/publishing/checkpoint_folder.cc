#include "common/rl/publishing/checkpoint_folder.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Unique, because names are used by several runs.
std::string NewRun(const std::string& experiment) {
  std::random_device random;
  const uint64_t number = (static_cast<uint64_t>(random()) << 32) | random();
  return absl::StrCat(experiment, "-", absl::Hex(number, absl::kZeroPad16));
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToWrite(const std::string& folder, int keep) {
  absl::StatusOr<std::unique_ptr<CheckpointStore>> store = CheckpointStore::Open(folder, keep);
  if (!absl::IsUnavailable(store.status())) {
    return store;
  }
  // The hub gives a silent process's seat away, though the process may be alive.
  LogWarning(store.status().message(), "; its checkpoints are read, and the next ones are written once it has ended");
  return CheckpointStore::OpenToTakeOver(folder, keep);
}

}  // namespace

absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const CheckpointFolderOptions& options) {
  CheckpointFolder folder;
  folder.run = NewRun(options.experiment);
  if (options.output_dir.empty()) {
    return folder;
  }
  folder.source = absl::StrCat(options.output_dir, "/checkpoints");
  WAGGLE_ASSIGN_OR_RETURN(folder.store, OpenToWrite(folder.source, options.keep));
  absl::StatusOr<std::optional<CheckpointContents>> contents = folder.store->LoadLatest();
  WAGGLE_RETURN_IF_ERROR(Annotate(contents.status(), "restoring the learner"));
  folder.contents = *std::move(contents);
  if (folder.contents.has_value()) {
    // A checkpoint without a run's name continues without one, because later checkpoints are beside it.
    const auto run = folder.contents->texts.find(kCheckpointRun);
    folder.run = run == folder.contents->texts.end() ? "" : run->second;
  }
  return folder;
}

}  // namespace waggle
