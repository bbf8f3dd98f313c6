#pragma once

#include <cstdint>

namespace waggle {

// Tells malloc to keep what is freed, up to 128 MiB an arena, and to take large blocks from there too. Its defaults
// give every block of megabytes back to the system and take the next one page by page: sampling and inserting of large
// items spend a third of their time in page faults then. Does nothing where malloc is not glibc's, or where the user
// has set it up by MALLOC_… or GLIBC_TUNABLES. Call before there is a second thread.
void KeepFreedMemory();

// Gives what is freed and kept back to the system where it has become more than `most_kept` bytes since the last time,
// of all arenas together: every thread may have freed some in an arena of its own, where no other takes it. Walks all
// that is freed, so it is not to be called more often than every few seconds. Returns whether it had become as much.
// Thread-safe; does nothing where KeepFreedMemory does nothing.
bool ReturnFreedMemory(int64_t most_kept);

}  // namespace waggle
