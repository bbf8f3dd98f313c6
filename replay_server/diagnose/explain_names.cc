#include "replay_server/diagnose/explain.h"

namespace waggle {

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFlowing:
      return "flowing";
    case Verdict::kWaiting:
      return "waiting";
    case Verdict::kDeadlock:
      return "deadlock";
  }
  return "unknown";
}

absl::string_view Name(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "none";
    case Cause::kNobodySamples:
      return "nobody_samples";
    case Cause::kSamplersSlow:
      return "samplers_slow";
    case Cause::kNobodyWrites:
      return "nobody_writes";
    case Cause::kTooFewItems:
      return "too_few_items";
    case Cause::kInsertsTooFew:
      return "inserts_too_few";
    case Cause::kOtherCounts:
      return "other_counts";
    case Cause::kDrawsUsedUp:
      return "draws_used_up";
    case Cause::kTooFewDifferent:
      return "too_few_different";
    case Cause::kLimiterTooTight:
      return "limiter_too_tight";
    case Cause::kBatchTooLarge:
      return "batch_too_large";
    case Cause::kBytesTooFew:
      return "bytes_too_few";
    case Cause::kServerMemoryFull:
      return "server_memory_full";
    case Cause::kDiskRefuses:
      return "disk_refuses";
    case Cause::kDiskSlow:
      return "disk_slow";
    case Cause::kCheckpointFails:
      return "checkpoint_fails";
    case Cause::kSampleMemoryFull:
      return "sample_memory_full";
  }
  return "unknown";
}

}  // namespace waggle
