#pragma once

#include <cstddef>
#include <utility>

namespace waggle {

// A fixed number of doubles, initially 0, aligned to 64 bytes. Large arrays are mapped, so that unwritten parts take no
// memory, and use huge pages if available: random access to small pages misses the TLB. Movable; not thread-safe.
class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size);
  ZeroedArray(ZeroedArray&& other) noexcept { Swap(&other); }
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    Swap(&other);
    return *this;
  }
  ~ZeroedArray();

  double* data() { return data_; }
  const double* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void Swap(ZeroedArray* other) {
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
  }

  double* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace waggle
