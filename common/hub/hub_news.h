#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// A worker's assignment: the newest of the hub's answers and of its news. Thread-safe.
class HubNews {
 public:
  const StopToken& training_over() const { return training_over_; }
  const StopToken& run_over() const { return run_over_; }

  Assignment assignment() const {
    MutexLock lock(&mutex_);
    return assignment_;
  }

  // See HubLink. The caller must call Wake when `stop` stops.
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition, const StopToken& stop) {
    int64_t seen = -1;
    while (true) {
      Assignment current;
      {
        MutexLock lock(&mutex_);
        while (taken_ == seen && refused_.ok() && !ended_ && !stop.StopRequested()) {
          changed_.Wait(&mutex_);
        }
        seen = taken_;
        current = assignment_;
        WAGGLE_RETURN_IF_ERROR(refused_);
        if (ended_) {
          return absl::CancelledError("the link to the parameter server has been ended");
        }
      }
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped while waiting for the parameter server");
      }
      if (condition(current)) {
        return current;
      }
      if (IsOver(current.run_state)) {
        return absl::CancelledError(absl::StrCat("the run is over: ", RunStateName(current.run_state)));
      }
    }
  }

  void Wake() {
    MutexLock lock(&mutex_);
    changed_.SignalAll();
  }

  // Takes an assignment if no newer one came before. Only the answer to a join has the experiment.
  bool Take(Assignment assignment, bool joined) {
    const RunState state = assignment.run_state;
    {
      MutexLock lock(&mutex_);
      // News may overtake a heartbeat's answer, but not the answer to a join: the hub may be another one, with another
      // clock.
      if (!joined && assignment.said_at < assignment_.said_at) {
        return false;
      }
      if (!joined) {
        assignment.experiment_yaml = std::move(assignment_.experiment_yaml);
      }
      assignment_ = std::move(assignment);
      ++taken_;
      changed_.SignalAll();
    }
    if (IsTrainingOver(state)) {
      training_over_.RequestStop();
    }
    if (IsOver(state)) {
      run_over_.RequestStop();
    }
    return true;
  }

  // The worker must stop.
  void Stop() {
    training_over_.RequestStop();
    run_over_.RequestStop();
    Wake();
  }
  void Refuse(const absl::Status& status) {
    {
      MutexLock lock(&mutex_);
      refused_ = status;
    }
    Stop();
  }
  // No more assignments come.
  void End() {
    MutexLock lock(&mutex_);
    ended_ = true;
    changed_.SignalAll();
  }

 private:
  const StopToken training_over_;
  const StopToken run_over_;
  mutable Mutex mutex_;
  CondVar changed_;  // Anything below.
  Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of assignments.
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
