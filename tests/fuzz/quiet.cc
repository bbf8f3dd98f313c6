// Silences logs and errors about inputs: writing them takes longer than finding them.
#include <google/protobuf/stubs/logging.h>

#include "common/base/log.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  waggle::InitLogging("fuzz", waggle::LogLevel::kError);
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

// Suppresses false leaks: glibc's records of thread-local objects, in a thread that ends during the search for leaks.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__cxa_thread_atexit_impl\n";
}
