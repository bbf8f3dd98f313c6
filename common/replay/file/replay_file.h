#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/file.h"
#include "common/config/spec/environment_spec.h"
#include "common/replay/ports/replay.h"

// Files of replay: a table's configuration and its blocks (docs/replay_files.md). Read without a server, as data sets.

namespace waggle {

// Writes a file as PATH.partial-…, and renames it once it is complete. Such files of killed processes are not in the
// way. One thread.
class ReplayFileWriter {
 public:
  // ALREADY_EXISTS if the path is taken. `items` is an estimate, which shows progress to readers. `environment`: that
  // of recorded episodes; null for other rows.
  static absl::StatusOr<std::unique_ptr<ReplayFileWriter>> Create(const std::string& path, const TableConfig& config,
                                                                  uint64_t items,
                                                                  const EnvironmentSpec* environment = nullptr);
  // Removes the file unless it is finished.
  ~ReplayFileWriter();

  // Appends a block in a writer's form: not compressed, without a checksum.
  absl::Status Append(const InsertBlock& block);
  // Writes the end, syncs and renames. ALREADY_EXISTS if the path was taken meanwhile.
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

// Reads and checks a file. One thread.
class ReplayFileReader {
 public:
  // NOT_FOUND; FAILED_PRECONDITION for a file of another kind or of a newer version; DATA_LOSS for a damaged one.
  static absl::StatusOr<std::unique_ptr<ReplayFileReader>> Open(const std::string& path);

  const TableConfig& config() const { return config_; }
  uint64_t items() const { return items_; }  // An estimate.
  // The environment of recorded episodes; absent for other rows.
  const std::optional<EnvironmentSpec>& environment() const { return environment_; }

  // Returns the next block; nullopt after the last. DATA_LOSS, with the block's number, if it is damaged or cut off.
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
  std::optional<EnvironmentSpec> environment_;
  uint64_t items_ = 0;
  uint64_t blocks_ = 0;
  uint64_t items_read_ = 0;
  bool ended_ = false;
};

}  // namespace waggle
