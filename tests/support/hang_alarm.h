#pragma once

#include <string>

namespace waggle::testing {

// Aborts the process with a message that names `what`, unless it is disarmed or armed anew within `seconds`, so that a
// hanging test is named. One alarm for each process; a child process inherits none.
void ArmHangAlarm(const std::string& what, unsigned seconds);
void DisarmHangAlarm();

}  // namespace waggle::testing
