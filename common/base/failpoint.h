#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Places where tests make a process fail: WAGGLE_FAILPOINT("journal.before_commit"); evaluates to an absl::Status that
// is OK unless the environment says otherwise. Compiled to nothing but OK without WAGGLE_FAILPOINTS_ENABLED (the CMake
// option WAGGLE_FAILPOINTS).
//
// The environment variable WAGGLE_FAILPOINTS lists them, "NAME=ACTION@N;…": at the Nth time that the place is passed
// (without @N, every time) it does ACTION: "abort" ends the process as kill -9 would, "hold" waits until the list is
// replaced, "error(MESSAGE)" makes it an UNAVAILABLE with that message.
#ifdef WAGGLE_FAILPOINTS_ENABLED
#define WAGGLE_FAILPOINT(name) ::waggle::PassFailpoint(name)
#else
#define WAGGLE_FAILPOINT(name) ::absl::OkStatus()
#endif

namespace waggle {

// Replaces the list; an empty text clears it. INVALID_ARGUMENT, with the wrong part, for text of another form. Any
// thread. Until the first call, the environment's list holds.
absl::Status SetFailpoints(absl::string_view list);

// What the macro calls. Any thread.
absl::Status PassFailpoint(absl::string_view name);

}  // namespace waggle
