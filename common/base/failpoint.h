#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Places where tests make a process fail. WAGGLE_FAILPOINT("journal.before_commit") is an absl::Status. It is always OK
// without WAGGLE_FAILPOINTS_ENABLED (the CMake option WAGGLE_FAILPOINTS).
//
// The environment variable WAGGLE_FAILPOINTS is a list "NAME=ACTION@N;…". The Nth pass of the place, or each pass
// without @N, does ACTION: "abort" ends the process as kill -9, "hold" waits until the list is replaced,
// "error(MESSAGE)" is UNAVAILABLE with that message.
#ifdef WAGGLE_FAILPOINTS_ENABLED
#define WAGGLE_FAILPOINT(name) ::waggle::PassFailpoint(name)
#else
#define WAGGLE_FAILPOINT(name) ::absl::OkStatus()
#endif

namespace waggle {

// Replaces the environment's list. INVALID_ARGUMENT, with the wrong part, if `list` is malformed. Any thread.
absl::Status SetFailpoints(absl::string_view list);

// Called by the macro. Any thread.
absl::Status PassFailpoint(absl::string_view name);

}  // namespace waggle
