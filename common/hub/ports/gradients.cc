#include "common/hub/ports/gradients.h"

#include "absl/strings/str_cat.h"

namespace waggle {

int64_t GradientModel::NumElements() const {
  int64_t sum = 0;
  for (const GradientGroup& group : groups) {
    sum += group.elements;
  }
  return sum;
}

std::string GradientModel::DebugString() const {
  std::string text = absl::StrCat("network ", absl::Hex(network_hash, absl::kZeroPad16));
  for (const GradientGroup& group : groups) {
    absl::StrAppend(&text, ", ", group.name, ": ", group.elements);
  }
  return text;
}

const char* GradientVerdictName(GradientVerdict verdict) {
  switch (verdict) {
    case GradientVerdict::kApplied:
      return "applied";
    case GradientVerdict::kStale:
      return "stale";
    case GradientVerdict::kFuture:
      return "future";
    case GradientVerdict::kNotFinite:
      return "not_finite";
    case GradientVerdict::kWrongModel:
      return "wrong_model";
    case GradientVerdict::kMalformed:
      return "malformed";
    case GradientVerdict::kTrainingOver:
      return "training_over";
  }
  return "unknown";
}

void CountVerdict(GradientVerdict verdict, Metrics* metrics) {
  if (verdict == GradientVerdict::kApplied) {
    metrics->Add("gradients_applied", 1);
  } else {
    metrics->Add("gradients_refused", 1);
    metrics->Add(absl::StrCat("gradients_refused_", GradientVerdictName(verdict)), 1);
  }
}

GradientAnswer SameForAll(const GradientPush& push, GradientVerdict verdict, const std::string& message) {
  GradientAnswer answer;
  answer.results.assign(push.members.size(), GradientResult{verdict, {}, message});
  return answer;
}

int64_t GradientCounts::Refused() const {
  int64_t sum = 0;
  for (const auto& [verdict, count] : refused) {
    sum += count;
  }
  return sum;
}

}  // namespace waggle
