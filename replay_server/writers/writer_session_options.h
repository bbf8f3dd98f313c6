#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {

// Limits of one writer on one server.
struct WriterSessionOptions {
  int64_t max_block_bytes = int64_t{64} << 20;  // Rows of one block.
  int64_t max_streams = 65536;
  // The newest rows of all streams, which are held for later windows.
  int64_t max_held_bytes = int64_t{1} << 30;
  // Blocks that wait for room in tables. One may always wait.
  int64_t max_waiting_bytes = int64_t{256} << 20;
  // Chunks in all windows of one block.
  int64_t max_block_references = int64_t{1} << 20;

  // INVALID_ARGUMENT if no writer could write.
  absl::Status Validate() const {
    return max_block_bytes > 0 && max_streams > 0 && max_held_bytes > 0 && max_waiting_bytes >= 0 &&
                   max_block_references > 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "a writer needs a block, a stream, bytes to hold and a reference at least; it may "
                     "have max_block_bytes ",
                     max_block_bytes, ", max_streams ", max_streams, ", max_held_bytes ", max_held_bytes,
                     ", max_waiting_bytes ", max_waiting_bytes, ", max_block_references ", max_block_references));
  }
};

}  // namespace waggle
