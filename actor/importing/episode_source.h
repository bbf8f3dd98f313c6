#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Consecutive rows of recorded episodes.
struct RecordedRows {
  int64_t rows = 0;
  std::vector<const char*> columns;  // [rows, …] for each of the source's columns. Valid until the next call.
};

// Recorded episodes, one behind the other, each from its first row to a last one that has the final observation alone.
// Calls block on the disk. One thread.
class EpisodeSource {
 public:
  virtual ~EpisodeSource() = default;

  // The name of the file or folder, for messages.
  virtual const std::string& name() const = 0;
  // Those of RecordedRows, in their order.
  virtual const std::vector<ArraySpec>& columns() const = 0;
  // The environment that was recorded; absent if the source does not say.
  virtual const std::optional<EnvironmentSpec>& environment() const = 0;
  // Returns the next rows; nullopt after the last. DATA_LOSS if a file is damaged, INTERNAL if a conversion is,
  // INVALID_ARGUMENT if a file has other rows than recorded episodes.
  virtual absl::StatusOr<std::optional<RecordedRows>> Next() = 0;
  // Makes Next begin again with the first row.
  virtual absl::Status Rewind() = 0;
};

}  // namespace waggle
