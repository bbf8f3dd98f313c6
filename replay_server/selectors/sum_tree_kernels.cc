#include "replay_server/selectors/sum_tree_kernels.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace waggle {
namespace {

constexpr size_t kFanOut = kSumTreeFanOut;
constexpr size_t kRebuildAhead = 8;

// Two doubles, or two lanes of comparison results, in a register of any x86-64 or AArch64 processor.
using Pair = double __attribute__((vector_size(16), may_alias));
using PairMask = int64_t __attribute__((vector_size(16)));

// The number of set lanes in a sum of masks.
inline size_t CountLanes(PairMask sum) {
  return static_cast<size_t>(-(sum[0] + sum[1]));
}

// One level of a search: returns the child whose range holds `*query` and makes the query relative to it. At least one
// entry is below the query, because `before[0]` is 0 and the query is positive.
inline size_t Descend(const double* before, double* query) {
  const Pair wanted = {*query, *query};
  PairMask below = {0, 0};
  for (size_t i = 0; i < kFanOut; i += 2) {
    below += *reinterpret_cast<const Pair*>(before + i) < wanted;
  }
  const size_t child = CountLanes(below) - 1;
  *query -= before[child];
  return child;
}

// The same among eight leaves. Computes their running sums in registers, as SumTreeRunningSums does.
inline size_t FindAmongLeaves(const double* values, double query) {
  const Pair zero = {0, 0};
  const Pair* pairs = reinterpret_cast<const Pair*>(values);
  Pair a = pairs[0] + __builtin_shufflevector(zero, pairs[0], 0, 2);
  Pair b = pairs[1] + __builtin_shufflevector(zero, pairs[1], 0, 2);
  Pair c = pairs[2] + __builtin_shufflevector(zero, pairs[2], 0, 2);
  Pair d = pairs[3] + __builtin_shufflevector(zero, pairs[3], 0, 2);
  b += __builtin_shufflevector(a, a, 1, 1);
  d += __builtin_shufflevector(c, c, 1, 1);
  const Pair first_four = __builtin_shufflevector(b, b, 1, 1);
  c += first_four;
  d += first_four;
  const Pair wanted = {query, query};
  const PairMask not_the_last = {-1, 0};
  return CountLanes((a < wanted) + (b < wanted) + (c < wanted) + ((d < wanted) & not_the_last));
}

void PortableDescend(const SumTreePath& path, size_t top, size_t bottom, size_t count, double* queries,
                     uint32_t* entries) {
  for (size_t level = top; level-- > bottom;) {
    const double* before = path.before[level];
    const double* next = level > 0 ? path.before[level - 1] : path.leaves;
    const size_t last_child = path.last_child[level];
    for (size_t i = 0; i < count; ++i) {
      const size_t first = size_t{entries[i]} * kFanOut;
      // If rounding has put a query past the end of the last node, the node's last entry may not exist.
      const size_t entry = std::min(first + Descend(before + first, &queries[i]), last_child);
      entries[i] = static_cast<uint32_t>(entry);
      __builtin_prefetch(next + entry * kFanOut);
    }
  }
}

void PortableFindLeaves(const SumTreePath& path, size_t count, const double* queries, uint32_t* entries) {
  for (size_t i = 0; i < count; ++i) {
    const size_t first = size_t{entries[i]} * kFanOut;
    entries[i] = static_cast<uint32_t>(first + FindAmongLeaves(path.leaves + first, queries[i]));
  }
}

#if defined(__x86_64__)

// Running sums in three steps, added in the order of SumTreeRunningSums. Each step adds 0 to the other lanes.
__attribute__((target("avx512f"))) inline __m512d Avx512RunningSums(const double* values) {
  __m512d sums = _mm512_load_pd(values);
  const __m512i from_pair = _mm512_setr_epi64(0, 0, 0, 2, 0, 4, 0, 6);
  sums += _mm512_maskz_permutexvar_pd(0b10101010, from_pair, sums);
  const __m512i from_second = _mm512_setr_epi64(0, 0, 1, 1, 0, 0, 5, 5);
  sums += _mm512_maskz_permutexvar_pd(0b11001100, from_second, sums);
  return sums + _mm512_maskz_permutexvar_pd(0b11110000, _mm512_set1_epi64(3), sums);
}

__attribute__((target("avx512f"))) void Avx512SumTreeRebuild(const double* values, double* before, double* sums,
                                                             const uint32_t* nodes, size_t count) {
  const __m512i one_on = _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6);
  for (size_t i = 0; i < count; ++i) {
    if (i + kRebuildAhead < count) {
      __builtin_prefetch(values + size_t{nodes[i + kRebuildAhead]} * kFanOut);
    }
    const size_t node = nodes[i];
    const __m512d running = Avx512RunningSums(values + node * kFanOut);
    if (before != nullptr) {
      _mm512_store_pd(before + node * kFanOut, _mm512_maskz_permutexvar_pd(0b11111110, one_on, running));
    }
    sums[node] = running[kFanOut - 1];
  }
}

// A node is one register.
__attribute__((target("avx512f,popcnt"))) void Avx512Descend(const SumTreePath& path, size_t top, size_t bottom,
                                                             size_t count, double* queries, uint32_t* entries) {
  for (size_t level = top; level-- > bottom;) {
    const double* before = path.before[level];
    const double* next = level > 0 ? path.before[level - 1] : path.leaves;
    const size_t last_child = path.last_child[level];
    for (size_t i = 0; i < count; ++i) {
      const double* node = before + size_t{entries[i]} * kFanOut;
      const __mmask8 below = _mm512_cmp_pd_mask(_mm512_load_pd(node), _mm512_set1_pd(queries[i]), _CMP_LT_OQ);
      const auto child = static_cast<size_t>(_mm_popcnt_u32(below)) - 1;
      queries[i] -= node[child];
      const size_t entry = std::min(size_t{entries[i]} * kFanOut + child, last_child);
      entries[i] = static_cast<uint32_t>(entry);
      __builtin_prefetch(next + entry * kFanOut);
    }
  }
}

__attribute__((target("avx512f,popcnt"))) void Avx512FindLeaves(const SumTreePath& path, size_t count,
                                                                const double* queries, uint32_t* entries) {
  for (size_t i = 0; i < count; ++i) {
    const __m512d sums = Avx512RunningSums(path.leaves + size_t{entries[i]} * kFanOut);
    const __mmask8 below = _mm512_mask_cmp_pd_mask(0b01111111, sums, _mm512_set1_pd(queries[i]), _CMP_LT_OQ);
    entries[i] = static_cast<uint32_t>(entries[i] * kFanOut + static_cast<size_t>(_mm_popcnt_u32(below)));
  }
}

// Half a node is one register.
__attribute__((target("avx2,popcnt"))) void Avx2Descend(const SumTreePath& path, size_t top, size_t bottom,
                                                        size_t count, double* queries, uint32_t* entries) {
  for (size_t level = top; level-- > bottom;) {
    const double* before = path.before[level];
    const double* next = level > 0 ? path.before[level - 1] : path.leaves;
    const size_t last_child = path.last_child[level];
    for (size_t i = 0; i < count; ++i) {
      const double* node = before + size_t{entries[i]} * kFanOut;
      const __m256d wanted = _mm256_set1_pd(queries[i]);
      const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_load_pd(node), wanted, _CMP_LT_OQ));
      const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_load_pd(node + 4), wanted, _CMP_LT_OQ));
      const auto child = static_cast<size_t>(_mm_popcnt_u32(static_cast<unsigned>(low | (high << 4)))) - 1;
      queries[i] -= node[child];
      const size_t entry = std::min(size_t{entries[i]} * kFanOut + child, last_child);
      entries[i] = static_cast<uint32_t>(entry);
      __builtin_prefetch(next + entry * kFanOut);
    }
  }
}

#endif

}  // namespace

SumTreeSearch PortableSumTreeSearch() {
  return {PortableDescend, PortableFindLeaves};
}

void PortableSumTreeRebuild(const double* values, double* before, double* sums, const uint32_t* nodes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i + kRebuildAhead < count) {
      __builtin_prefetch(values + size_t{nodes[i + kRebuildAhead]} * kFanOut);
    }
    const size_t node = nodes[i];
    const SumTreeRunningSums running(values + node * kFanOut);
    if (before != nullptr) {
      before[node * kFanOut] = 0;
      std::copy_n(running.sums, kFanOut - 1, before + node * kFanOut + 1);
    }
    sums[node] = running.sums[kFanOut - 1];
  }
}

SumTreeRebuild FastestSumTreeRebuild() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return Avx512SumTreeRebuild;
  }
#endif
  return PortableSumTreeRebuild;
}

SumTreeSearch FastestSumTreeSearch() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt")) {
    return {Avx512Descend, Avx512FindLeaves};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
    return {Avx2Descend, PortableFindLeaves};
  }
#endif
  return PortableSumTreeSearch();
}

}  // namespace waggle
