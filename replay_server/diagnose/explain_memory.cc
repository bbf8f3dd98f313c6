#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_stall.h"
#include "replay_server/table/parties.h"

namespace waggle {

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
  finding.set_who_could(
      "the samplers that have it, when they read; the streams of those that do not are ended in time");
  return finding;
}

}  // namespace waggle
