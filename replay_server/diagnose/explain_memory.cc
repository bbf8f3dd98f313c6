#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_stall.h"
#include "replay_server/table/client_words.h"

namespace waggle {
namespace {

constexpr size_t kMaxHoldersNamed = 3;

// Shorter times without a read are usual between two messages.
constexpr absl::Duration kReads = absl::Seconds(2);

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

}  // namespace

std::optional<Explanation> ExplainSampleMemory(const TablePicture& picture, const ExplainOptions& options) {
  const SampleMemory& memory = picture.sample_memory;
  if (memory.waiting == 0 || memory.waited < options.patience) {
    return std::nullopt;
  }
  Explanation finding;
  finding.set_verdict(Explanation::VERDICT_WAITING);
  finding.set_cause(causes::kSampleMemoryFull);
  finding.set_summary(absl::StrCat("for ", SecondsText(memory.waited), ": ", memory.who,
                                   " waits for batches: ", WhyBatchesWait(memory)));
  AddInWords("memory of the server", absl::StrCat(memory.limit), "more (--memory-bytes), or smaller batches", &finding);
  finding.set_who_could("samplers that hold memory, by reading; the streams of samplers that read nothing are ended");
  return finding;
}

}  // namespace waggle
