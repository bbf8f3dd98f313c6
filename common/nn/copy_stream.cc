#include "common/nn/copy_stream.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

// Uses LibTorch's functions for all accelerators, so it compiles without CUDA's headers.

namespace waggle {
namespace {

// Makes later work on `later` wait for the present work on `earlier`.
void Follow(const torch::Stream& earlier, const torch::Stream& later) {
  c10::Event done(earlier.device_type());
  done.record(earlier);
  done.block(later);
}

}  // namespace

CopyStream::CopyStream(torch::Device device)
    : stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)) {}

torch::Tensor CopyStream::ToDevice(const torch::Tensor& pinned) const {
  const torch::Stream computing = Computing();
  torch::Tensor copy;
  {
    const c10::StreamGuard beside(stream_);
    copy = pinned.to(stream_.device(), /*non_blocking=*/true);
  }
  Follow(stream_, computing);
  copy.record_stream(computing);
  return copy;
}

torch::Tensor CopyStream::ToHost(const torch::Tensor& values) const {
  const torch::Tensor copy =
      torch::empty(values.sizes(), values.options().device(torch::kCPU).pinned_memory(true).requires_grad(false));
  Follow(Computing(), stream_);
  {
    const c10::StreamGuard beside(stream_);
    copy.copy_(values.detach(), /*non_blocking=*/true);
  }
  values.record_stream(stream_);
  return copy;
}

void CopyStream::Wait() const {
  c10::impl::VirtualGuardImpl(stream_.device_type()).synchronizeStream(stream_);
}

torch::Stream CopyStream::Computing() const {
  return c10::impl::VirtualGuardImpl(stream_.device_type()).getStream(stream_.device());
}

}  // namespace waggle
