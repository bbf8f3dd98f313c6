#pragma once

// One function for several instruction sets, chosen when a program is loaded. Its source must be compiled without fused
// multiplication and addition, so that all machines compute the same numbers.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WAGGLE_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WAGGLE_VECTOR_CLONES
#endif
// Takes the instruction set of the function that it is part of.
#define WAGGLE_INLINE inline __attribute__((always_inline))
