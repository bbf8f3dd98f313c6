#include "param_server/experiments/pool_calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/hub/pool_convert.h"

namespace waggle {
namespace {

void ReportEvent(const PoolEvent& event, Hub* hub) {
  const std::string worker_id = RunWorkerId(event.worker_id, event.order.number);
  switch (event.kind) {
    case PoolEvent::Kind::kOrdered:
      hub->Order({worker_id, event.order.role, event.process_id, event.host, ""}, event.order.index);
      break;
    case PoolEvent::Kind::kEnded:
    case PoolEvent::Kind::kGaveUp:
      hub->Leave(worker_id);  // Its call of Leave may have been lost.
      break;
    case PoolEvent::Kind::kLost:
    case PoolEvent::Kind::kReleased:
      hub->Dismiss(worker_id, event.text);
      break;
    case PoolEvent::Kind::kAway:
      hub->SetAway(worker_id);
      break;
    case PoolEvent::Kind::kRecalled:  // The worker may still report.
    case PoolEvent::Kind::kHopeless:
      break;
  }
}

v1::AttendResponse AnswerFor(HostState* host, const std::string& worker_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  v1::AttendResponse answer;
  if (const PoolMember* const member = host->pool.FindMember(worker_id); member != nullptr) {
    for (const auto& [number, order] : member->orders) {
      *answer.add_orders() = ToProto(order);
    }
    // Workers of an experiment whose run is not open yet keep their orders, unless it goes back to a cut.
    for (const v1::HeldOrder& held : member->attendance.held()) {
      const auto record = host->records.find(held.order().experiment_id());
      if (!held.ended() && record != host->records.end() && record->second.state == RunState::kRunning &&
          host->active_runs.count(record->first) == 0 && !host->ReturnsToCut(record->first)) {
        *answer.add_orders() = held.order();
      }
    }
    for (const std::string& id : member->attendance.kept()) {
      const auto record = host->records.find(id);
      // Data of unknown experiments may be another hub's, and stay. A resumed experiment begins with empty tables.
      const bool is_past =
          record != host->records.end() && host->active_runs.count(id) == 0 &&
          (IsOver(record->second.state) || (record->second.state == RunState::kQueued && record->second.attempts > 0));
      const PoolRun* const run = host->pool.FindRun(id);
      const bool is_lost = run != nullptr && run->HasLostTables(member->attendance);
      if (record == host->records.end() ? host->deleted.count(id) > 0 : is_past || is_lost) {
        answer.add_discarded(id);
      }
    }
  }
  return answer;
}

// Takes the calls for which there is news, or that have waited long enough, with their answers.
using Answers = std::vector<std::pair<AttendReply, absl::StatusOr<v1::AttendResponse>>>;
Answers TakeAnswers(HostState* host, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  Answers answers;
  for (auto one = host->calls.begin(); one != host->calls.end();) {
    const PoolMember* const member = host->pool.FindMember(one->first);
    if (now < one->second.until && member != nullptr && !member->HasNews()) {
      ++one;
      continue;
    }
    answers.emplace_back(std::move(one->second.reply), AnswerFor(host, one->first));
    host->pool.Answered(one->first, now);
    one = host->calls.erase(one);
  }
  return answers;
}

}  // namespace

uint64_t TakeAttendCall(HostState* host, const v1::AttendRequest& attendance, AttendReply reply) {
  std::optional<absl::StatusOr<v1::AttendResponse>> now_known;
  AttendReply replaced;
  uint64_t call = 0;
  {
    const absl::Time now = host->options.clock();
    MutexLock lock(&host->mutex);
    call = ++host->last_call;
    if (const auto other = host->calls.find(attendance.worker_id()); other != host->calls.end()) {
      replaced = std::move(other->second.reply);
      host->calls.erase(other);
    }
    if (const absl::Status taken = host->pool.Attend(attendance, now); !taken.ok()) {
      now_known = taken;
    } else if (attendance.leaving() && attendance.held().empty()) {
      host->pool.Leave(attendance.worker_id(), now);
      now_known = v1::AttendResponse();
    } else {
      host->calls[attendance.worker_id()] = {call, now + host->options.answer_after, std::move(reply)};
    }
  }
  if (replaced != nullptr) {
    replaced(absl::AbortedError("this worker has called again"));
  }
  if (now_known.has_value()) {
    reply(*std::move(now_known));
  }
  host->wake->Up();  // The thread replies to this call, and to calls that wait for news of it.
  return call;
}

void BreakOffCall(HostState* host, uint64_t number) {
  AttendReply reply;
  {
    MutexLock lock(&host->mutex);
    const auto call = std::find_if(host->calls.begin(), host->calls.end(),
                                   [number](const auto& one) { return one.second.number == number; });
    if (call == host->calls.end()) {
      return;
    }
    reply = std::move(call->second.reply);
    host->pool.BrokeOff(call->first, host->options.clock());
    host->calls.erase(call);
  }
  reply(absl::CancelledError("the call was broken off"));
  host->wake->Up();
}

void TickPool(HostState* host) {
  const absl::Time now = host->options.clock();
  std::vector<PoolEvent> events;
  std::vector<std::pair<std::shared_ptr<OpenRun>, PoolEvent>> of_runs;
  Answers answers;
  {
    MutexLock lock(&host->mutex);
    events = host->pool.Tick(now);
    for (const PoolEvent& event : events) {
      ++host->pool_events[event.kind];
      if (const auto active = host->active_runs.find(event.order.experiment_id); active != host->active_runs.end()) {
        of_runs.emplace_back(active->second.run, event);
        if (event.kind == PoolEvent::Kind::kHopeless) {
          active->second.hopeless = event.text;
        }
      }
    }
    answers = TakeAnswers(host, now);
  }
  for (const auto& [run, event] : of_runs) {
    if (event.kind != PoolEvent::Kind::kReleased) {  // kRecalled was noted before.
      const bool bad = event.kind != PoolEvent::Kind::kOrdered && event.kind != PoolEvent::Kind::kEnded &&
                       event.kind != PoolEvent::Kind::kRecalled;
      bad ? LogWarning(event.text) : LogInfo(event.text);
      host->Note(event.order.experiment_id, event.text);
    }
    ReportEvent(event, run->hub());
  }
  // After ReportEvent: a worker may join the run's hub as soon as it has its order.
  for (auto& [reply, value] : answers) {
    reply(std::move(value));
  }
}

}  // namespace waggle
