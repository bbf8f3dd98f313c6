#include "tests/support/failing_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace waggle::testing {
namespace {

constexpr int64_t kAll = -1;

struct Failing {
  int64_t after = kAll;
  bool for_good = false;
  bool failed = false;
};

thread_local Failing failing;

void* Checked(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void MayFail() {
  if (failing.after == kAll) {
    return;
  }
  if (failing.after > 0) {
    --failing.after;
    return;
  }
  failing.failed = true;
  failing.after = failing.for_good ? 0 : kAll;
  throw std::bad_alloc();
}

}  // namespace

void FailMemory(int64_t after, bool for_good) {
  failing = {after, for_good, false};
}

bool StopFailingMemory() {
  failing.after = kAll;
  return failing.failed;
}

}  // namespace waggle::testing

#ifdef __SANITIZE_ADDRESS__
// Loaded libraries allocate by the sanitizer's operator new, and this program frees that memory.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "alloc_dealloc_mismatch=0";
}

// Protocol Buffers leak the part of a message under construction when an allocation fails.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:google::protobuf";
}
#endif

void* operator new(std::size_t size) {
  waggle::testing::MayFail();
  return waggle::testing::Checked(std::malloc(size > 0 ? size : 1));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  waggle::testing::MayFail();
  const auto step = static_cast<std::size_t>(alignment);
  return waggle::testing::Checked(std::aligned_alloc(step, (size + step - 1) / step * step + (size > 0 ? 0 : step)));
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
