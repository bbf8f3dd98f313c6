#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/file.h"
#include "common/replay/ports/replay.h"

// Files of replay: a table's configuration and blocks that fill such a table. docs/replay_files.md describes their
// layout. They are read without a server, and serve as data sets.

namespace waggle {

// Writes a file. It has its name only once it is complete, and another one, PATH.partial-…, until then; one that a
// killed process left behind is not in the way. One thread.
class ReplayFileWriter {
 public:
  // ALREADY_EXISTS if the path is taken. `items`: about their number, which shows progress to readers.
  static absl::StatusOr<std::unique_ptr<ReplayFileWriter>> Create(const std::string& path, const TableConfig& config,
                                                                  uint64_t items);
  // Removes the file unless it is finished.
  ~ReplayFileWriter();

  // Appends a block in a writer's form: not compressed, without a checksum.
  absl::Status Append(const InsertBlock& block);
  // Writes the end, and returns once the file is on the device under its name. ALREADY_EXISTS if the path was taken
  // meanwhile.
  absl::Status Finish();

  uint64_t items() const { return items_; }
  uint64_t bytes() const { return bytes_; }  // In the file so far.

 private:
  explicit ReplayFileWriter(const std::string& path);
  absl::Status AppendRecord(uint32_t kind, const std::string& payload);

  const std::string path_;
  const std::string partial_path_;
  File file_;
  uint64_t blocks_ = 0;
  uint64_t items_ = 0;
  uint64_t bytes_ = 0;
  bool finished_ = false;
};

// Reads a file, and checks all of it. One thread.
class ReplayFileReader {
 public:
  // NOT_FOUND; FAILED_PRECONDITION for a file of another kind or of a newer version; DATA_LOSS for a damaged one.
  static absl::StatusOr<std::unique_ptr<ReplayFileReader>> Open(const std::string& path);

  const TableConfig& config() const { return config_; }
  uint64_t items() const { return items_; }  // About their number.

  // The next block; none after the last one. DATA_LOSS, with the block's number, for one that is damaged, and for a
  // file that is cut off.
  absl::StatusOr<std::optional<InsertBlock>> Next();

 private:
  struct Record;

  ReplayFileReader(const std::string& path, File file, int64_t bytes_left);
  absl::Status ReadHeader();
  absl::StatusOr<Record> ReadRecord();

  const std::string path_;
  File file_;
  int64_t bytes_left_;
  TableConfig config_;
  uint64_t items_ = 0;
  uint64_t blocks_ = 0;
  uint64_t items_read_ = 0;
  bool ended_ = false;
};

}  // namespace waggle
