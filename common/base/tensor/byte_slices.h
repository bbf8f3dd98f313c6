#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace waggle {

// One run of bytes and its owner.
struct ByteSlice {
  const char* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};

// A payload as a list of runs of immutable bytes: bulk data passes between the transport and the logic without a copy.
// Its copies share the bytes. A value type; not thread-safe to modify.
class ByteSlices {
 public:
  ByteSlices() = default;
  explicit ByteSlices(ByteSlice slice) { Append(std::move(slice)); }

  void Append(ByteSlice slice) {
    size_ += slice.size;
    slices_.push_back(std::move(slice));
  }

  size_t size() const { return size_; }
  const std::vector<ByteSlice>& slices() const { return slices_; }

  // `size` bytes from `offset` on, shared; they must exist.
  ByteSlices Part(size_t offset, size_t size) const;

  // Copies all bytes to `destination`, which has room for size() of them.
  void CopyTo(char* destination) const;

 private:
  std::vector<ByteSlice> slices_;
  size_t size_ = 0;
};

// The bytes in one run: shared if they are in one, otherwise a copy.
std::shared_ptr<const char> InOneRun(const ByteSlices& data);

// A block of uninitialised bytes aligned to 64, owned by its shared pointer.
std::shared_ptr<char> AllocateBytes(size_t size);

}  // namespace waggle
