#pragma once

#include <signal.h>
#include <sys/wait.h>

#include "common/base/process/child_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Waits until the child has ended.
inline ChildExit WaitForExit(ChildProcess* child) {
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child->pid()), &info, WEXITED | WNOWAIT);
  REQUIRE(child->Poll().has_value());
  return *child->Poll();
}

}  // namespace waggle::testing
