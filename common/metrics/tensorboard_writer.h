#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Writes scalars to a TensorBoard event file. Not thread-safe.
class TensorBoardWriter {
 public:
  // Creates a new event file in the folder, which must exist: `tensorboard --logdir` finds it, and shows several files
  // of one folder as one run.
  static absl::StatusOr<std::unique_ptr<TensorBoardWriter>> Create(const std::string& folder);

  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;
  // Flushes.
  ~TensorBoardWriter();

  // Adds a point to the curve `tag`. `wall_time_seconds` counts from the Unix epoch. TensorBoard keeps values as
  // float32. Kept until Flush(), or until 64 KiB have come together: an error is then that of writing them.
  absl::Status Scalar(absl::string_view tag, int64_t step, double wall_time_seconds, double value);

  // Hands all points to the operating system. After an error the points are kept, and the next call tries again; beyond
  // 16 MiB of them, Scalar() refuses new ones.
  absl::Status Flush();

  const std::string& path() const { return path_; }

 private:
  TensorBoardWriter(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  const int descriptor_;
  std::string pending_;  // Bytes that the file does not have yet.
};

}  // namespace waggle
