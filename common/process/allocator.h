#pragma once

#include <cstdint>

namespace waggle {

// Whose blocks a process takes and frees.
enum class AllocatingThreads {
  kMany,  // Each thread has blocks of its own.
  kOne,   // One thread takes and frees nearly all, the same large blocks again and again, as a learner does.
};

// Tells malloc to keep what is freed, up to 128 MiB an arena, and to take large blocks from there too. Its defaults
// give every block of megabytes back to the system and take the next one page by page: sampling and inserting of large
// items spend a third of their time in page faults then. Does nothing where malloc is not glibc's, or where the user
// has set it up by MALLOC_… or GLIBC_TUNABLES. Call before there is a second thread.
//
// With kOne all that is freed is kept, of blocks of any size, in one arena: other arenas are made of pieces of 64 MiB,
// which are given back whole whatever malloc is told. A step of IMPALA's from 32 unrolls of 20 stacks of four pictures,
// 84x84, through two convolutions took 67,000 page faults and 0.32 s of processor time, and takes 3,500 and 0.24 s.
// What the process holds is then the most that it has used at once, 680 MiB there as before, until ReturnFreedMemory.
void KeepFreedMemory(AllocatingThreads threads = AllocatingThreads::kMany);

// Gives what is freed and kept back to the system where it has become more than `most_kept` bytes since the last time,
// of all arenas together: every thread may have freed some in an arena of its own, where no other takes it. Walks all
// that is freed, so it is not to be called more often than every few seconds. Returns whether it had become as much.
// Thread-safe; does nothing where KeepFreedMemory does nothing.
bool ReturnFreedMemory(int64_t most_kept);

}  // namespace waggle
