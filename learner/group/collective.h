#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/key_store.h"
#include "common/nn/torch.h"

namespace waggle {

struct CollectiveOptions {
  int rank = 0;
  int size = 1;
  std::string host;  // An address of this machine that the other members can reach.
};

// Collective operations of a group of learners. All members call the same operations in the same order. If a member is
// lost, they fail for all others, at once if its connections break. ABORTED from the first failed operation on, and
// once the group is abandoned; a running operation then ends soon. One thread, except for Send and Receive.
class Collective {
 public:
  virtual ~Collective() = default;

  // Connects by c10d's Gloo; tensors of a device travel through the CPU. Waits for all members to come, then connects
  // to them by their entries in `store`, which must outlive the object. UNIMPLEMENTED if this build has no Gloo;
  // ABORTED as above, and if the store or the members cannot be reached.
  static absl::StatusOr<std::unique_ptr<Collective>> Connect(const CollectiveOptions& options, KeyStore* store,
                                                             const StopToken& abandoned);

  // Replaces the tensor by its mean over all members, with equal bits in each. All tensors must have one shape, and
  // type float32 or float64.
  virtual absl::Status Average(torch::Tensor tensor) = 0;

  // Replaces the bytes of the other members, of equal size, by the root's.
  virtual absl::Status Broadcast(void* data, int64_t size, int root) = 0;

  // The values of all members, by rank.
  virtual absl::StatusOr<std::vector<int64_t>> Gather(int64_t value) = 0;

  // Send a tensor to a member, which receives one of the same size and type, in the order of sending. Contiguous, on
  // the CPU. Thread-safe, if each member's tensors are sent by one thread, and received by one.
  virtual absl::Status Send(const torch::Tensor& tensor, int to) = 0;
  virtual absl::Status Receive(torch::Tensor tensor, int from) = 0;
};

}  // namespace waggle
