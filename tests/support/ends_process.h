#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "tests/support/catch.h"

namespace waggle::testing {

// Whether `work`, done by a copy of this process, ends that by std::terminate. The copy has this thread alone.
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
