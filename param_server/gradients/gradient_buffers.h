#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace waggle {

// Bounded memory for gradients. A request beyond the bound waits until buffers are released; requests are served in
// their order. Thread-safe; the buffers may outlive it.
class GradientBuffers {
 public:
  using Ready = std::function<void(std::shared_ptr<float> buffer)>;

  // A single buffer is granted even if it alone exceeds the bound.
  explicit GradientBuffers(int64_t max_bytes);

  // Calls `ready` with uninitialised room for `elements` numbers, aligned to 64 bytes: at once, or later in the thread
  // that releases a buffer. Never calls it after `owner` was destroyed.
  void Take(int64_t elements, const std::weak_ptr<const void>& owner, Ready ready);

 private:
  class Shelf;
  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace waggle
