#pragma once

#include <cstdint>

namespace waggle {

// The threads whose blocks a process takes and frees.
enum class AllocatingThreads {
  kMany,  // Each thread has blocks of its own.
  kOne,   // One thread takes and frees nearly all, the same large blocks again and again, as a learner does.
};

// Makes malloc keep freed memory, up to 128 MiB an arena, and take large blocks from there too. Its defaults give every
// block of megabytes back to the system and take the next one page by page: sampling and inserting of large items spend
// a third of their time in page faults then. Does nothing if malloc is not glibc's, or if the user has set it up by
// MALLOC_… or GLIBC_TUNABLES. Call before there is a second thread.
//
// With kOne all freed memory is kept, in blocks of any size, in one arena: other arenas are made of pieces of 64 MiB,
// which are given back whole whatever malloc's settings are. A step of IMPALA's from 32 unrolls of 20 stacks of four
// pictures, 84x84, through two convolutions took 67,000 page faults and 0.32 s of processor time, and takes 3,500 and
// 0.24 s. The process then holds the most that it has used at once, 680 MiB there as before, until ReturnFreedMemory.
void KeepFreedMemory(AllocatingThreads threads = AllocatingThreads::kMany);

// Gives kept memory back to the system if it has grown by more than `most_kept` bytes since the last time, in all
// arenas together: every thread may have freed some in an arena of its own, from which no other thread takes it. Walks
// all freed memory, so call it at most every few seconds. Returns true if it gave memory back. Thread-safe; does
// nothing if KeepFreedMemory does nothing.
bool ReturnFreedMemory(int64_t most_kept);

}  // namespace waggle
