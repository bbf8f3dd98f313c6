#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/base/log_format.h"
#include "common/base/process/allocator.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The frame around a process's main function, the same for all executables:
//
//   int main(int argc, char** argv) {
//     … parse flags …
//     return RunProcess("learner", log, [&](const StopToken& stop) { return RunLearner(options, stop); });
//   }
//
// Blocks SIGINT, SIGTERM and SIGHUP in every thread and waits for them in one: the first asks `body` to stop through
// its token, a second one ends the process at once. SIGHUP stays ignored if it was (nohup). Ignores SIGPIPE; puts
// gRPC's lines into our log. Does not call `body` if the process has too few descriptors or too little address space to
// do anything. Returns the exit status: 0 when `body` returned OK, or CANCELLED after a stop; 1, with the error logged,
// otherwise. No exception leaves it. Memory that runs out ends the process. Freed memory
// is kept, as `threads` says.
int RunProcess(const std::string& role, const LogOptions& log,
               const std::function<absl::Status(const StopToken& stop)>& body,
               AllocatingThreads threads = AllocatingThreads::kMany);

}  // namespace waggle
