#pragma once

namespace waggle {

// Ends the process, because memory has run out: writes a line to its log and calls abort().
[[noreturn]] void EndOutOfMemory();

// From now on operator new calls EndOutOfMemory if it finds no memory, and never throws. Call at the start of main.
void EndWhereMemoryRunsOut();

}  // namespace waggle
