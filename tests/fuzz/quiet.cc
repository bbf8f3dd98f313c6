// What is wrong with an input is said to whoever sends it, and here to nobody: writing it takes longer than finding it.
#include <google/protobuf/stubs/logging.h>

#include "common/base/log.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  waggle::InitLogging("fuzz", waggle::LogLevel::kError);
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

// Of a thread that ends while leaks are looked for: what glibc notes of its thread-local objects.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__cxa_thread_atexit_impl\n";
}
