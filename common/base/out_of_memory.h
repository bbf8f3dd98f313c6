#pragma once

namespace waggle {

// Memory has run out: ends the process by a line in its log and abort().
[[noreturn]] void EndOutOfMemory();

// From now on operator new does that where it finds no memory, instead of throwing: nobody has to go on without what it
// asked for. Call at the start of main.
void EndWhereMemoryRunsOut();

}  // namespace waggle
