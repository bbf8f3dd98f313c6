#pragma once

#include <string>

#include "cli/command_line.h"

namespace waggle {

// `waggle run`: checks the experiment, creates the output folder, starts every process on this machine (the executables
// in `binary_folder`), shows their progress, and always stops them again. Returns the exit status: 0 if the stop
// condition was met, 1 if the run failed or stopped at a limit before its target, 2 if the experiment is wrong, 130 if
// the user interrupted it.
//
// Call it from the main thread, before any other thread exists: it blocks signals in all threads and waits for them,
// and child processes die with the thread that started them.
int RunLocally(const RunFlags& flags, const std::string& binary_folder);

}  // namespace waggle
