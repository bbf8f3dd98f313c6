#pragma once

#include "common/nn/torch.h"

namespace waggle {

// Copies to and from an accelerator on a stream of its own, in parallel to computations. One thread; may throw as
// LibTorch does.
class CopyStream {
 public:
  explicit CopyStream(torch::Device device);

  // Copies `pinned`, in pinned memory, to the device. Returns at once; later work on the current stream waits for the
  // copy. Both may be released at any time: LibTorch reuses their memory only after earlier work.
  torch::Tensor ToDevice(const torch::Tensor& pinned) const;

  // Copies `values` to pinned memory after the current stream's present work. Returns at once; the result is ready
  // after Wait(). `values` may be released at any time, but must not be written to before Wait().
  torch::Tensor ToHost(const torch::Tensor& values) const;

  // Waits for all copies so far, and for no later work on other streams.
  void Wait() const;

 private:
  torch::Stream Computing() const;

  torch::Stream stream_;
};

}  // namespace waggle
