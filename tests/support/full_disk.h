#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstddef>

#include "tests/support/catch.h"

namespace waggle::testing {

// Simulates a full disk during its life: no file of this process grows beyond a size. A write succeeds partly, then
// fails.
class FullDisk {
 public:
  explicit FullDisk(size_t largest_file) : old_handler_(signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit_) == 0);
    const rlimit limit{largest_file, old_limit_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    signal(SIGXFSZ, old_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit old_limit_;
  const sighandler_t old_handler_;
};

}  // namespace waggle::testing
