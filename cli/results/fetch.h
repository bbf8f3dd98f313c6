#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// The files of an experiment, copied from its hub to a folder here.
struct FetchedRun {
  std::string id;
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;  // The experiment's, when they were listed.
  std::string folder;
  std::vector<std::string> files;    // Their names in the folder.
  std::vector<std::string> missing;  // Names of files that the experiment does not have.
  // The values in which it differs from the other members of its group, by their keys.
  std::vector<std::pair<std::string, std::string>> settings;
  int64_t bytes = 0;
};

struct FetchOptions {
  std::string param_server;
  std::string id;
  // The new folder. It may exist if it is empty, or if an earlier fetch of the same experiment made it: then it is
  // replaced.
  std::string folder;
  absl::Duration patience = absl::Seconds(60);  // How long a hub that has answered may be away.
};

// Copies an experiment's files, and its events to events.jsonl, into a temporary folder, which becomes the new folder
// once all are there. A running experiment's files are copied as they are. ALREADY_EXISTS for a folder
// with other content; NOT_FOUND if there is no such experiment; FAILED_PRECONDITION if it has no files yet; CANCELLED
// after a stop.
absl::StatusOr<FetchedRun> FetchRun(const FetchOptions& options, const StopToken& stop);

// The members of a group whose files were copied, each to a folder with its id.
struct FetchedGroup {
  std::vector<FetchedRun> runs;
  std::vector<std::string> without_files;  // Ids of members that have no files yet.
};

// Copies the files of these experiments of one hub, each as FetchRun to FOLDER/ID. FAILED_PRECONDITION if none has
// files.
absl::StatusOr<FetchedGroup> FetchAll(const std::string& param_server, const std::vector<std::string>& ids,
                                      const std::string& folder, const StopToken& stop);

// `waggle fetch`. Returns the text to print.
absl::StatusOr<std::string> Fetch(const FetchFlags& flags, const StopToken& stop);

}  // namespace waggle
