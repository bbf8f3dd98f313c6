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

// The ports to the gradient server: gradients that one process computes change weights in another. Over gRPC in
// common/hub/gradients.

namespace waggle {

// Parameters that are stepped together, by one optimizer.
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
  // "network 00ff, actor_critic: 4610", for messages.
  std::string DebugString() const;

  friend bool operator==(const GradientModel& a, const GradientModel& b) {
    return a.network_hash == b.network_hash && a.groups == b.groups;
  }
  friend bool operator!=(const GradientModel& a, const GradientModel& b) { return !(a == b); }
};

// One gradient of one worker, in a sum of one or several.
struct GradientMember {
  std::string worker_id;
  uint64_t life = 0;      // The worker's; its sequences begin anew with each life.
  uint64_t sequence = 0;  // From 1.
  ModelVersion based_on;
  uint64_t acknowledged = 0;  // The worker has answers to all sequences up to this one,
  uint64_t applied = 0;       // and so many of these gradients were applied.
};

// The most that a sequence may exceed `acknowledged` by. It bounds what is remembered of a worker.
inline constexpr uint64_t kMaxGradientsAhead = 1024;
// The most members of one sum.
inline constexpr size_t kMaxGradientMembers = 4096;

// A gradient, or the sum of several. A value; its copies share the numbers.
struct GradientPush {
  GradientModel model;
  std::vector<GradientMember> members;
  std::shared_ptr<const float> data;  // model.NumElements() of them: the groups, back to back.
};

// The outcome of a gradient. All but the first are refusals. Checkpoints have the numbers: new ones go to the end.
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
  bool send_singly = false;             // Nothing of the sum is settled: each member must be sent by itself.
};

// The same result for each member.
GradientAnswer SameForAll(const GradientPush& push, GradientVerdict verdict, const std::string& message);

// Receives gradients: the primary, a reducer, or a link to one. Thread-safe.
class GradientTaker {
 public:
  using Answer = std::function<void(GradientAnswer answer)>;

  virtual ~GradientTaker() = default;

  // Does not wait. `answer` is called once, from any thread, soon after the outcome is known; it must not block. It is
  // dropped uncalled if the taker is destroyed before. The caller bounds how much is under way.
  virtual void Take(GradientPush push, Answer answer) = 0;
};

// Outcomes of a worker's gradients: pushed = applied + all refused + those that are not answered yet.
struct GradientCounts {
  int64_t pushed = 0;
  int64_t applied = 0;
  std::map<GradientVerdict, int64_t> refused;  // By reason.
  std::string last_refusal;                    // In words; empty before the first.

  int64_t Refused() const;
};

// A worker's side: pushes the gradients that it computes. One thread, but for counts().
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Takes a gradient of the sink's model, computed with the weights of `based_on`, and returns before it is answered.
  // Waits while too many are unanswered. The numbers must not change any more. A refused gradient is counted and is not
  // an error. CANCELLED after a stop.
  virtual absl::Status Push(std::shared_ptr<const float> gradient, const ModelVersion& based_on,
                            const StopToken& stop) = 0;

  // Waits until all gradients are answered. DEADLINE_EXCEEDED after `timeout`; CANCELLED after a stop.
  virtual absl::Status Flush(absl::Duration timeout, const StopToken& stop) = 0;

  virtual GradientCounts counts() const = 0;
};

}  // namespace waggle
