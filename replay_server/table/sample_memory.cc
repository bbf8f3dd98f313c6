#include "replay_server/table/sample_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replay_server/table/parties.h"

namespace waggle {
namespace {

constexpr size_t kMaxHoldersNamed = 3;

// Less is what a sampler needs to be asked for its next message.
constexpr absl::Duration kReads = absl::Seconds(2);

}  // namespace

std::string WhyBatchesWait(const SampleMemory& memory) {
  int64_t held = 0;
  for (const SampleMemory::Holder& holder : memory.holders) {
    held += holder.bytes;
  }
  std::string text = absl::StrCat(memory.waiting, memory.waiting == 1 ? " batch waits" : " batches wait",
                                  " for memory: samplers have ", held, " of ", memory.limit,
                                  " bytes for batches on their way (max_sample_bytes)");
  for (size_t i = 0; i < std::min(kMaxHoldersNamed, memory.holders.size()); ++i) {
    const SampleMemory::Holder& holder = memory.holders[i];
    absl::StrAppend(
        &text, i == 0 ? ": " : "; ", holder.who, " at table \"", holder.table, "\" ", holder.bytes,
        holder.unread >= kReads ? absl::StrCat(", and has read nothing for ", SecondsText(holder.unread)) : "");
  }
  return text;
}

}  // namespace waggle
