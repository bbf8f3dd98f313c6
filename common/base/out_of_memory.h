#pragma once

namespace waggle {

// Ends the process because memory has run out: logs a line and calls abort().
[[noreturn]] void EndOutOfMemory();

// Makes operator new call EndOutOfMemory instead of throwing. Must be called at the start of main.
void EndWhereMemoryRunsOut();

}  // namespace waggle
