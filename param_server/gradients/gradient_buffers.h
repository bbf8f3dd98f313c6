#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace waggle {

// The memory of gradients that have come and are not done with, within a bound: who asks for more waits, in the order
// of asking, until others are let go. Thread-safe; the buffers may outlive it.
class GradientBuffers {
 public:
  using Ready = std::function<void(std::shared_ptr<float> buffer)>;

  // One buffer may always be had, also where it alone is above the bound.
  explicit GradientBuffers(int64_t max_bytes);

  // Calls `ready` with room for so many numbers, uninitialised and aligned to 64 bytes: at once, or later from the
  // thread that lets the last one go; never once `owner` has gone.
  void Take(int64_t elements, const std::weak_ptr<const void>& owner, Ready ready);

 private:
  class Shelf;
  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace waggle
