#pragma once

#include "common/nn/torch.h"

namespace waggle {

// Copies to and from an accelerator on a stream of their own, beside what the device computes: neither stands still for
// the other, but where one needs what the other makes. One thread; may throw as LibTorch does.
class CopyStream {
 public:
  explicit CopyStream(torch::Device device);

  // `pinned`, which is in pinned memory, on the device. Returns at once; what is queued on the current stream from now
  // on waits for the copy. The memory of both may be let go at any time: LibTorch gives it out again only after the
  // copy and all that was queued before it was let go.
  torch::Tensor ToDevice(const torch::Tensor& pinned) const;

  // What `values` are once all that is queued on the current stream by now is computed, in pinned memory. Returns at
  // once, and is to be read after Wait(). `values` may be let go at any time, but not written to before.
  torch::Tensor ToHost(const torch::Tensor& values) const;

  // Waits for all copies so far, and for nothing that was queued on other streams after them.
  void Wait() const;

 private:
  torch::Stream Computing() const;

  torch::Stream stream_;
};

}  // namespace waggle
