#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "common/base/metrics/growing_file.h"

namespace waggle {

// Writes scalars to a TensorBoard event file. Not thread-safe.
class TensorBoardWriter {
 public:
  // Makes a new event file in the folder: `tensorboard --logdir` finds it, and shows several files of one folder as one
  // run. If it cannot be made yet, each Flush() tries again and returns the error.
  explicit TensorBoardWriter(const std::string& folder);

  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // OK if the next Append takes its points, written or kept; otherwise the error of writing the kept ones.
  absl::Status MakeRoom() { return file_.MakeRoom(); }

  // Adds a point to the curve of each name. `wall_time_seconds` counts from the Unix epoch. TensorBoard keeps values as
  // float32. Points are kept until Flush(), until there are 64 KiB (an error is then that of writing them), or until
  // the end. Refuses points if more than 16 MiB are kept already: see MakeRoom.
  absl::Status Append(int64_t step, double wall_time_seconds, const std::map<std::string, double>& values);

  // Hands all points to the operating system. After an error the points are kept, and the next call tries again.
  absl::Status Flush();

  // Empty if there is no file yet.
  const std::string& path() const { return file_.path(); }

 private:
  GrowingFile file_;
};

}  // namespace waggle
