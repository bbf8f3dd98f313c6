#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/model.h"

// The ports to a gradient server, for gradients of other processes. Over gRPC in common/hub/gradients.

namespace waggle {

// Parameters that one optimizer steps together.
struct GradientGroup {
  std::string name;  // ParameterGroup's name.
  int64_t elements = 0;

  friend bool operator==(const GradientGroup& a, const GradientGroup& b) {
    return a.name == b.name && a.elements == b.elements;
  }
};

// Identifies gradients that belong together: those of one network's groups, in one order.
struct GradientModel {
  uint64_t network_hash = 0;
  std::vector<GradientGroup> groups;

  int64_t NumElements() const;
  std::string DebugString() const;

  friend bool operator==(const GradientModel& a, const GradientModel& b) {
    return a.network_hash == b.network_hash && a.groups == b.groups;
  }
  friend bool operator!=(const GradientModel& a, const GradientModel& b) { return !(a == b); }
};

// One gradient of a worker in a sum.
struct GradientMember {
  std::string worker_id;
  uint64_t life = 0;      // The worker's. Sequences start again in each life.
  uint64_t sequence = 0;  // From 1.
  ModelVersion based_on;
  uint64_t acknowledged = 0;  // The worker has answers up to this sequence;
  uint64_t applied = 0;       // so many of them were applied.
};

// The most that a sequence may exceed `acknowledged` by, which bounds the memory of a worker.
inline constexpr uint64_t kMaxGradientsAhead = 1024;
inline constexpr size_t kMaxGradientMembers = 4096;

// A gradient or the sum of several. A value; copies share the numbers.
struct GradientPush {
  GradientModel model;
  std::vector<GradientMember> members;
  std::shared_ptr<const float> data;  // The groups' elements, back to back.
};

// A gradient's outcome; all but the first are refusals. Checkpoints have the numbers, so new ones go to the end.
enum class GradientVerdict { kApplied, kStale, kFuture, kNotFinite, kWrongModel, kMalformed, kTrainingOver };

// "applied", "stale", "future", "not_finite", "wrong_model", "malformed", "training_over".
const char* GradientVerdictName(GradientVerdict verdict);

// Counts gradients_applied; or gradients_refused and gradients_refused_REASON.
void CountVerdict(GradientVerdict verdict, Metrics* metrics);

struct GradientResult {
  GradientVerdict verdict = GradientVerdict::kApplied;
  ModelVersion version;  // Applied: the first version that has it.
  std::string message;   // Refused: the reason, in words.
};

// The answer to a push.
struct GradientAnswer {
  std::vector<GradientResult> results;  // One for each member, in their order; empty if send_singly.
  bool send_singly = false;             // The sum has no verdict: each member must be sent by itself.
};

GradientAnswer SameForAll(const GradientPush& push, GradientVerdict verdict, const std::string& message);

// A receiver of gradients: the primary, a reducer, or a link to one. Thread-safe.
class GradientTaker {
 public:
  using Answer = std::function<void(GradientAnswer answer)>;

  virtual ~GradientTaker() = default;

  // Returns at once. Calls `answer` once, from any thread, soon after the outcome; it must not block. The destructor
  // drops it. The caller must bound its gradients under way.
  virtual void Take(GradientPush push, Answer answer) = 0;
};

// A worker's gradients by outcome: pushed = applied + all refused + unanswered.
struct GradientCounts {
  int64_t pushed = 0;
  int64_t applied = 0;
  std::map<GradientVerdict, int64_t> refused;  // By reason.
  std::string last_refusal;                    // In words; empty before the first.

  int64_t Refused() const;
};

// A worker's end, which pushes its gradients. One thread, but for counts().
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Pushes a gradient of the sink's model, computed with the weights of `based_on`, without waiting for the answer.
  // Waits while too many are unanswered. `gradient` must not change any more. A refusal is counted and is not an error.
  // CANCELLED after a stop.
  virtual absl::Status Push(std::shared_ptr<const float> gradient, const ModelVersion& based_on,
                            const StopToken& stop) = 0;

  // Waits until all gradients are answered. DEADLINE_EXCEEDED after `timeout`; CANCELLED after a stop.
  virtual absl::Status Flush(absl::Duration timeout, const StopToken& stop) = 0;

  virtual GradientCounts counts() const = 0;
};

}  // namespace waggle
