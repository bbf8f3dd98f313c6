#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/tensor/checksum.h"
#include "param_server/models/model_store.h"

namespace waggle {

// A version that arrives in pieces. Checks the header before it takes memory; readers see the version once it is
// complete. Not thread-safe. The store outlives it.
class ModelUpload {
 public:
  // `header` is the version without its data. The errors are those of ModelStore::Publish.
  static absl::StatusOr<std::unique_ptr<ModelUpload>> Begin(ModelStore* store, ModelSnapshot header,
                                                            uint64_t total_bytes, uint64_t checksum);
  ~ModelUpload();
  ModelUpload(const ModelUpload&) = delete;
  ModelUpload& operator=(const ModelUpload&) = delete;

  // Copies the next bytes in. INVALID_ARGUMENT if there are more than were announced.
  absl::Status Append(const ByteSlices& piece);

  // Publishes the version. Called once. INVALID_ARGUMENT if bytes are missing, DATA_LOSS for a wrong checksum;
  // otherwise as ModelStore::Publish.
  absl::Status Commit();

 private:
  ModelUpload(ModelStore* store, ModelSnapshot header, std::shared_ptr<char> bytes, uint64_t total_bytes,
              uint64_t checksum);

  ModelStore* const store_;
  const uint64_t total_bytes_;
  const uint64_t checksum_;
  ModelSnapshot header_;
  const std::shared_ptr<char> bytes_;
  uint64_t received_ = 0;
  int64_t reserved_;  // In the store's limit.
  Checksummer checksummer_;
};

}  // namespace waggle
