#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "tests/support/catch.h"

namespace waggle::testing {

// Limits the memory that this process may still get from the system, during its life. kWorks is false under a
// sanitizer, which needs more address space and aborts without it.
class LimitedMemory {
 public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kWorks = false;
#else
  static constexpr bool kWorks = true;
#endif

  explicit LimitedMemory(int64_t more_bytes) {
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    REQUIRE(pages > 0);
    rlimit limited = before_;
    limited.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more_bytes);
    REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  }
  ~LimitedMemory() {
    setrlimit(RLIMIT_AS, &before_);
  }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;

 private:
  rlimit before_ = {};
};

// True if `work` ends a copy of this process by std::terminate. The copy has this thread alone.
template <class Work>
bool EndsProcess(const Work& work) {
  constexpr int kTerminated = 42;
  const pid_t child = fork();
  if (child == 0) {
    std::set_terminate([] { std::_Exit(kTerminated); });
    work();
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == kTerminated;
}

}  // namespace waggle::testing
