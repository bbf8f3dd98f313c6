#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/file.h"

// The files of an experiment that users may fetch. They are found by fixed names and patterns: no path of a peer is
// used. Functions wait for the disk; they may run while a run writes the files.

namespace waggle {

// The folders in which an experiment has its files.
struct ResultFolders {
  std::string output;  // Its output folder.
  std::string hub;     // The hub's folder of its run, with the weights.
};

// As ResultFile of results.proto.
struct ResultFile {
  std::string name;
  int64_t size = 0;
  uint64_t identity = 0;
};

struct ResultListing {
  std::vector<ResultFile> files;
  std::vector<std::string> missing;  // Names of files that are not there.
};

// A file that is absent or cannot be read is missing.
ResultListing ListResults(const ResultFolders& folders);

// Opens the file that a listing now has by this name. NOT_FOUND if there is none, ABORTED if it has another identity or
// is shorter than `end`.
absl::StatusOr<File> OpenResult(const ResultFolders& folders, absl::string_view name, uint64_t identity, uint64_t end);

}  // namespace waggle
