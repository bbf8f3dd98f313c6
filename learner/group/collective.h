#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/key_store.h"
#include "common/base/stop_token.h"
#include "common/nn/torch.h"

namespace waggle {

struct CollectiveOptions {
  int rank = 0;
  int size = 1;
  std::string host;  // An address of this machine by which the others reach it.
};

// Operations of all learners of a group together, each of which calls the same ones in the same order. A member that is
// lost makes them fail for all others, at once where its connections break. ABORTED, for good, from the first operation
// that fails, or once the group is abandoned: an operation that is under way then ends soon. One thread.
class Collective {
 public:
  virtual ~Collective() = default;

  // Over c10d's Gloo: tensors of a device travel by way of the CPU. Waits for all others to come, then connects to
  // them by what they leave in `store`, which outlives the object. UNIMPLEMENTED where this build has no Gloo; ABORTED
  // as above, and where the store or the others cannot be reached.
  static absl::StatusOr<std::unique_ptr<Collective>> Connect(const CollectiveOptions& options, KeyStore* store,
                                                             const StopToken& abandoned);

  // The mean over all members takes the tensor's place; the same bits in each. Tensors of one shape, and of one of the
  // types float32 and float64.
  virtual absl::Status Average(torch::Tensor tensor) = 0;

  // The root's bytes take the place of those of the others, which have as many.
  virtual absl::Status Broadcast(void* data, int64_t size, int root) = 0;

  // Everybody's value, by rank.
  virtual absl::StatusOr<std::vector<int64_t>> Gather(int64_t value) = 0;
};

}  // namespace waggle
