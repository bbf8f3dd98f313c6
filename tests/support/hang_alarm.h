#pragma once

#include <string>

namespace waggle::testing {

// Aborts the process with a message that names `what` unless it is disarmed, or armed anew, within so many seconds: a
// test that hangs says which one it is. One alarm a process; a child process inherits none.
void ArmHangAlarm(const std::string& what, unsigned seconds);
void DisarmHangAlarm();

}  // namespace waggle::testing
