// What ExperimentHost has to do with the processes of the pool: they attend, and are told their orders. The rest of the
// class is in experiment_host.cc.

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "param_server/experiments/experiment_host.h"

namespace waggle {

uint64_t ExperimentHost::Attend(const Attendance& attendance, Answer answer) {
  std::optional<absl::StatusOr<PoolAnswer>> now_known;
  Answer replaced;
  uint64_t call = 0;
  {
    const absl::Time now = options_.clock();
    MutexLock lock(&mutex_);
    call = ++last_call_;
    if (const auto other = waiting_.find(attendance.worker_id); other != waiting_.end()) {
      replaced = std::move(other->second.answer);
      waiting_.erase(other);
    }
    if (const absl::Status taken = pool_.Attend(attendance, now); !taken.ok()) {
      now_known = taken;
    } else if (attendance.leaving && attendance.held.empty()) {
      pool_.Leave(attendance.worker_id, now);
      now_known = PoolAnswer();
    } else {
      waiting_[attendance.worker_id] = {call, now + options_.answer_after, std::move(answer)};
    }
  }
  if (replaced != nullptr) {
    replaced(absl::AbortedError("this worker has called again"));
  }
  if (now_known.has_value()) {
    answer(*std::move(now_known));
  }
  wake_->Up();  // The thread answers it, and others for whom this call is news.
  return call;
}

void ExperimentHost::BreakOff(uint64_t call) {
  Answer answer;
  {
    MutexLock lock(&mutex_);
    const auto waiting =
        std::find_if(waiting_.begin(), waiting_.end(), [call](const auto& one) { return one.second.call == call; });
    if (waiting == waiting_.end()) {
      return;
    }
    answer = std::move(waiting->second.answer);
    pool_.BrokeOff(waiting->first, options_.clock());
    waiting_.erase(waiting);
  }
  answer(absl::CancelledError("the call was broken off"));
  wake_->Up();
}

void ExperimentHost::TickPool() {
  const absl::Time now = options_.clock();
  std::vector<PoolEvent> events;
  std::vector<std::pair<std::shared_ptr<OpenRun>, PoolEvent>> of_runs;
  Answers answers;
  {
    MutexLock lock(&mutex_);
    events = pool_.Tick(now);
    for (const PoolEvent& event : events) {
      if (const auto active = active_.find(event.order.experiment_id); active != active_.end()) {
        of_runs.emplace_back(active->second.run, event);
        if (event.kind == PoolEvent::Kind::kHopeless) {
          active->second.hopeless = event.text;
        }
      }
    }
    answers = TakeAnswersLocked(now);
  }
  for (const auto& [run, event] : of_runs) {
    if (event.kind != PoolEvent::Kind::kReleased) {  // Most have said goodbye themselves, which is no news then.
      const bool bad = event.kind != PoolEvent::Kind::kOrdered && event.kind != PoolEvent::Kind::kEnded &&
                       event.kind != PoolEvent::Kind::kRecalled;
      bad ? LogWarning(event.text) : LogInfo(event.text);
      Note(event.order.experiment_id, event.text);
    }
    TellHub(event, run->hub());
  }
  // The hubs of the runs know the orders by now: a worker may join as soon as it has its answer.
  for (auto& [answer, value] : answers) {
    answer(std::move(value));
  }
}

void ExperimentHost::TellHub(const PoolEvent& event, Hub* hub) {
  const std::string worker_id = RunWorkerId(event.worker_id, event.order.number);
  switch (event.kind) {
    case PoolEvent::Kind::kOrdered:
      hub->Order({worker_id, event.order.role, event.process_id, event.host, ""}, event.order.index);
      break;
    case PoolEvent::Kind::kEnded:
    case PoolEvent::Kind::kGaveUp:
      hub->Leave(worker_id);  // Its goodbye may have been lost.
      break;
    case PoolEvent::Kind::kLost:
    case PoolEvent::Kind::kReleased:
      hub->Dismiss(worker_id, event.text);
      break;
    case PoolEvent::Kind::kAway:
      hub->SetAway(worker_id);
      break;
    case PoolEvent::Kind::kRecalled:  // It has its last to say.
    case PoolEvent::Kind::kHopeless:
      break;
  }
}

ExperimentHost::Answers ExperimentHost::TakeAnswersLocked(absl::Time now) {
  Answers answers;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const PoolMember* const member = pool_.FindMember(one->first);
    if (now < one->second.until && member != nullptr && !member->HasNews()) {
      ++one;
      continue;
    }
    answers.emplace_back(std::move(one->second.answer), AnswerLocked(one->first));
    pool_.Answered(one->first, now);
    one = waiting_.erase(one);
  }
  return answers;
}

PoolAnswer ExperimentHost::AnswerLocked(const std::string& worker_id) {
  PoolAnswer answer;
  if (const PoolMember* const member = pool_.FindMember(worker_id); member != nullptr) {
    answer.orders = member->Orders();
    // Workers of an experiment that cannot go on yet wait for it, as they would for the hub itself.
    for (const HeldOrder& held : member->attendance.held) {
      const auto record = records_.find(held.order.experiment_id);
      if (!held.ended && record != records_.end() && record->second.state == RunState::kRunning &&
          active_.count(record->first) == 0) {
        answer.orders.push_back(held.order);
      }
    }
    for (const std::string& id : member->attendance.kept) {
      const auto record = records_.find(id);
      // What belongs to an experiment that this hub never had may be another hub's, and stays. What is left of one that
      // is resumed goes: it begins with empty tables.
      const bool is_past =
          record != records_.end() && active_.count(id) == 0 &&
          (IsOver(record->second.state) || (record->second.state == RunState::kQueued && record->second.attempts > 0));
      const PoolRun* const run = pool_.FindRun(id);
      const bool is_lost = run != nullptr && run->HasLostTables(member->attendance);
      if (record == records_.end() ? deleted_.count(id) > 0 : is_past || is_lost) {
        answer.discarded.push_back(id);
      }
    }
  }
  return answer;
}

}  // namespace waggle
