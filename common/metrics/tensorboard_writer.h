#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/metrics/growing_file.h"

namespace waggle {

// Writes scalars to a TensorBoard event file. Not thread-safe.
class TensorBoardWriter {
 public:
  // Creates a new event file in the folder, which must exist: `tensorboard --logdir` finds it, and shows several files
  // of one folder as one run. A disk that is full is no error yet.
  static absl::StatusOr<std::unique_ptr<TensorBoardWriter>> Create(const std::string& folder);

  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // Adds a point to the curve `tag`. `wall_time_seconds` counts from the Unix epoch. TensorBoard keeps values as
  // float32. Kept until Flush(), until 64 KiB have come together (an error is then that of writing them), or until the
  // end.
  absl::Status Scalar(absl::string_view tag, int64_t step, double wall_time_seconds, double value);

  // Hands all points to the operating system. After an error the points are kept, and the next call tries again; where
  // too many are kept already (see GrowingFile), Scalar() refuses new ones.
  absl::Status Flush();

  const std::string& path() const { return file_.path(); }

 private:
  TensorBoardWriter(std::string path, int descriptor) : file_(std::move(path), descriptor, 0) {}

  GrowingFile file_;
};

}  // namespace waggle
