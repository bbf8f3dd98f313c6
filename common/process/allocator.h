#pragma once

namespace waggle {

// Tells malloc to keep what is freed, up to 128 MiB an arena, and to take large blocks from there too. Its defaults
// give every block of megabytes back to the system and take the next one page by page: sampling and inserting of large
// items spend a third of their time in page faults then. Does nothing where malloc is not glibc's, or where the user
// has set it up by MALLOC_… or GLIBC_TUNABLES. Call before there is a second thread.
void KeepFreedMemory();

}  // namespace waggle
