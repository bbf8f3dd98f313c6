#include "tests/support/counted_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace waggle::testing {
namespace {

thread_local int64_t taken = 0;

void* Counted(void* memory) {
  ++taken;
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

int64_t MemoryTaken() {
  return taken;
}

}  // namespace waggle::testing

#ifdef __SANITIZE_ADDRESS__
// Loaded libraries allocate by the sanitizer's operator new, and this program frees that memory.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "alloc_dealloc_mismatch=0";
}
#endif

void* operator new(std::size_t size) {
  return waggle::testing::Counted(std::malloc(size > 0 ? size : 1));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return waggle::testing::Counted(std::aligned_alloc(step, (size + step - 1) / step * step + (size > 0 ? 0 : step)));
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
