#pragma once

#include "common/nn/torch.h"

namespace waggle {

// Copies to and from an accelerator on a stream of their own, beside the device's computations. Neither waits for the
// other unless it needs the other's result. One thread; may throw as LibTorch does.
class CopyStream {
 public:
  explicit CopyStream(torch::Device device);

  // `pinned`, which is in pinned memory, on the device. Returns at once; work that is queued on the current stream from
  // now on waits for the copy. The memory of both may be released at any time: LibTorch reuses it only after the copy
  // and all work that was queued before the release.
  torch::Tensor ToDevice(const torch::Tensor& pinned) const;

  // `values` in pinned memory, once all work that is queued on the current stream by now is done. Returns at once; read
  // the result after Wait(). `values` may be released at any time, but must not be written to before.
  torch::Tensor ToHost(const torch::Tensor& values) const;

  // Waits for all copies so far, and for nothing that was queued on other streams after them.
  void Wait() const;

 private:
  torch::Stream Computing() const;

  torch::Stream stream_;
};

}  // namespace waggle
