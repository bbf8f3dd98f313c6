#include "replay_server/diagnose/explain_memory.h"

#include "absl/strings/str_cat.h"
#include "replay_server/table/parties.h"

namespace waggle {

std::optional<Beside> ExplainSampleMemory(const TablePicture& picture, const ExplainOptions& options) {
  const SampleMemory& memory = picture.sample_memory;
  if (memory.waiting == 0 || memory.waited < options.patience) {
    return std::nullopt;
  }
  Beside story;
  story.verdict = Verdict::kWaiting;
  story.finding.cause = Cause::kSampleMemoryFull;
  story.finding.why = absl::StrCat("for ", SecondsText(memory.waited), ": ", memory.who,
                                   " waits for batches: ", WhyBatchesWait(memory));
  story.finding.remedies.push_back(
      {"memory of the server", absl::StrCat(memory.limit), "more (--memory-bytes), or smaller batches", 0, false});
  story.who_could = "the samplers that have it, when they read; the streams of those that do not are ended in time";
  return story;
}

}  // namespace waggle
