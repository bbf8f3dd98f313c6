#include "actor/environments/rpc/rpc_environments.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/shown_text.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// Between checks of the stop token and of deadlines.
constexpr absl::Duration kLook = absl::Milliseconds(50);
// The time that servers have to destroy their worlds.
constexpr absl::Duration kFarewell = absl::Seconds(1);
constexpr size_t kMaxShownText = 500;

}  // namespace

absl::StatusOr<std::unique_ptr<RpcEnvironments>> RpcEnvironments::Create(RpcEnvironmentsOptions options,
                                                                         const StopToken& stop) {
  if (options.lanes < 1 || options.servers.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", options.lanes, " lanes and ", options.servers.size(),
                                                   " servers; wanted at least one of each"));
  }
  std::unique_ptr<RpcEnvironments> environments(new RpcEnvironments(std::move(options)));
  WAGGLE_RETURN_IF_ERROR(environments->AwaitFirstSpecs(stop));
  return environments;
}

RpcEnvironments::RpcEnvironments(RpcEnvironmentsOptions options)
    : options_(std::move(options)),
      lanes_a_group_(std::max<int64_t>(1, options_.batch)),
      created_at_(SteadyNow()),
      ended_(static_cast<size_t>(options_.lanes)) {
  for (int64_t lane = 0; lane < options_.lanes; lane += lanes_a_group_) {
    Group& group = groups_.emplace_back();
    group.number = groups_.size() - 1;
    group.first_lane = lane;
    group.wanted.resize(static_cast<size_t>(std::min(lanes_a_group_, options_.lanes - lane)), Command::kNothing);
    group.told = group.wanted;
    group.acts_at = created_at_;
  }
  health_.processes = static_cast<int64_t>(groups_.size());
}

RpcEnvironments::~RpcEnvironments() {
  for (Group& group : groups_) {
    for (std::unique_ptr<RpcSession>* session : {&group.session, &group.lost}) {
      if (*session == nullptr) {
        continue;
      }
      if (session == &group.session) {
        (*session)->LeaveOrCancel();
      } else {
        (*session)->Cancel();
      }
      Retire(std::move(*session));
    }
  }
  const absl::Time patience = SteadyNow() + kFarewell;
  bool cancelled = false;
  while (!retired_.empty()) {
    if (!cancelled && SteadyNow() >= patience) {
      cancelled = true;
      for (const std::unique_ptr<RpcSession>& session : retired_) {
        session->Cancel();
      }
    }
    Poll(kLook).IgnoreError();
  }
  queue_.Shutdown();
  while (NextEvent(&queue_, kLook)) {
  }
}

absl::Status RpcEnvironments::AwaitFirstSpecs(const StopToken& stop) {
  while (!std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.ready; })) {
    if (stop.StopRequested()) {
      return absl::CancelledError("opening the environment was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(LookAtTimes());
    WAGGLE_RETURN_IF_ERROR(Poll(kLook));
  }
  rows_ = std::make_unique<ReadyRows>(spec(), lanes());
  return absl::OkStatus();
}

absl::Status RpcEnvironments::Reset() {
  rows_->Clear();
  std::vector<int64_t> all(static_cast<size_t>(lanes()));
  std::iota(all.begin(), all.end(), 0);
  return Start(all);
}

absl::Status RpcEnvironments::Start(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    Group& group = GroupOf(lane);
    group.wanted[RowOf(lane)] = Command::kBegin;
    ended_[static_cast<size_t>(lane)] = 0;
    RunIfDue(&group);
  }
  return absl::OkStatus();
}

absl::Status RpcEnvironments::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    Group& group = GroupOf(lanes[i]);
    const size_t row = RowOf(lanes[i]);
    const bool at_end = rows_->AtEnd(lanes[i]);
    if (std::exchange(ended_[static_cast<size_t>(lanes[i])], 0) != 0 && !at_end) {
      EndEpisode(group, row);
      continue;
    }
    if (group.ready && !at_end) {
      group.session->SetActions(static_cast<int64_t>(row), actions, i);
    }
    group.wanted[row] = Command::kStep;
    RunIfDue(&group);
  }
  return absl::OkStatus();
}

absl::StatusOr<ReadyLanes> RpcEnvironments::Recv(int64_t at_least, const StopToken& stop) {
  absl::Duration timeout = absl::ZeroDuration();
  do {
    if (stop.StopRequested()) {
      return absl::CancelledError("waiting for the environment was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(Poll(timeout));
    WAGGLE_RETURN_IF_ERROR(LookAtTimes());
    if (options_.in_order) {
      WAGGLE_RETURN_IF_ERROR(TakeAllInOrder());
    }
    timeout = kLook;
  } while (rows_->rows() < at_least);
  return rows_->Show();
}

absl::Status RpcEnvironments::Poll(absl::Duration timeout) {
  while (const std::optional<RpcEvent> event = NextEvent(&queue_, timeout)) {
    WAGGLE_RETURN_IF_ERROR(TakeEvent(*event->operation, event->ok));
    timeout = absl::ZeroDuration();
  }
  return absl::OkStatus();
}

absl::Status RpcEnvironments::TakeEvent(const RpcStream::Operation& operation, bool ok) {
  RpcSession* const session = RpcSession::Of(operation);
  const absl::StatusOr<RpcSession::News> news = session->Take(operation, ok);
  const auto retired =
      std::find_if(retired_.begin(), retired_.end(), [session](const auto& other) { return other.get() == session; });
  if (retired != retired_.end()) {
    if (session->has_ended()) {
      retired_.erase(retired);
    }
    return absl::OkStatus();
  }
  Group& group = groups_[session->group()];
  if (group.session.get() != session) {  // The session is lost.
    return absl::OkStatus();
  }
  if (!news.ok()) {
    return Lose(&group, news.status());
  }
  if (*news == RpcSession::News::kJoined) {
    if (session->has_created()) {
      group.world_name = session->world_name();
    }
    const absl::Status fits = BecomeReady(&group);
    return fits.ok() ? fits : Lose(&group, fits);
  }
  if (*news == RpcSession::News::kAnswered) {
    group.answered = true;
    if (!options_.in_order) {
      WAGGLE_RETURN_IF_ERROR(TakeRows(&group));
      RunIfDue(&group);
    }
  }
  return absl::OkStatus();
}

absl::Status RpcEnvironments::LookAtTimes() {
  const absl::Time now = SteadyNow();
  if (now < looks_at_) {
    return absl::OkStatus();
  }
  looks_at_ = now + kLook;
  for (Group& group : groups_) {
    const bool waits = !group.ready || (group.running && !group.answered);
    if (!waits || now < group.acts_at) {
      continue;
    }
    if (group.session == nullptr) {
      Open(&group);
    } else {
      const absl::Duration allowed = group.ready ? options_.answer_timeout : options_.open_timeout;
      WAGGLE_RETURN_IF_ERROR(
          Lose(&group, absl::DeadlineExceededError(absl::StrCat(
                           "no answer within ", absl::FormatDuration(allowed),
                           "; a server needs a worker for each stream: ", groups_.size(), " are open to ",
                           options_.servers.size(), options_.servers.size() == 1 ? " server" : " servers"))));
    }
  }
  return absl::OkStatus();
}

void RpcEnvironments::Open(Group* group) {
  health_.restarts += group->restarts.Started() && rows_ != nullptr ? 1 : 0;
  RpcSessionOptions session = SessionOfStream(options_, group->first_lane, static_cast<int64_t>(group->told.size()),
                                              group->restarts.starts(), group->world_name);
  const RpcEnvironmentsOptions::Server& server = options_.servers[group->number % options_.servers.size()];
  group->session = std::make_unique<RpcSession>(std::move(session), server.channel, &queue_, group->number);
  group->acts_at = SteadyNow() + options_.open_timeout;
}

absl::Status RpcEnvironments::BecomeReady(Group* group) {
  const RpcSpec& said = group->session->spec();
  if (!have_spec_) {
    WAGGLE_RETURN_IF_ERROR(TakeFirstSpec(said));
  } else if (!said.Matches(spec_)) {
    return absl::FailedPreconditionError(absl::StrCat("environment: got ", said.environment.DebugString(),
                                                      "; wanted, as before, ", spec_.environment.DebugString()));
  }
  group->ready = true;
  group->in_sequence = false;
  RunIfDue(group);
  return absl::OkStatus();
}

absl::Status RpcEnvironments::TakeFirstSpec(const RpcSpec& spec) {
  WAGGLE_RETURN_IF_ERROR(spec.CheckMemory(options_.lanes));
  spec_ = spec;
  have_spec_ = true;
  for (const std::string& note : spec_.notes) {
    LogInfo(spec_.environment.name, ": ", note);
  }
  return absl::OkStatus();
}

void RpcEnvironments::RunIfDue(Group* group) {
  const bool all_wanted = std::all_of(group->wanted.begin(), group->wanted.end(),
                                      [](Command command) { return command != Command::kNothing; });
  if (!group->ready || group->running || !all_wanted) {
    return;
  }
  group->told.swap(group->wanted);
  std::fill(group->wanted.begin(), group->wanted.end(), Command::kNothing);
  const bool reset =
      group->in_sequence && std::find(group->told.begin(), group->told.end(), Command::kBegin) != group->told.end();
  group->begins = reset || !group->in_sequence;
  if (group->begins) {
    group->session->Begin(reset);
  } else {
    group->session->Step();
  }
  group->running = true;
  group->acts_at = SteadyNow() + options_.answer_timeout;
}

absl::Status RpcEnvironments::TakeAllInOrder() {
  if (std::any_of(groups_.begin(), groups_.end(),
                  [](const Group& group) { return group.running && !group.answered; })) {
    return absl::OkStatus();
  }
  for (Group& group : groups_) {
    if (group.answered) {
      WAGGLE_RETURN_IF_ERROR(TakeRows(&group));
      RunIfDue(&group);
    }
  }
  return absl::OkStatus();
}

absl::Status RpcEnvironments::TakeRows(Group* group) {
  // All rows are taken or none: if one is wrong, all lanes' episodes end with the rows that they showed before.
  taken_.clear();
  for (size_t row = 0; row < group->told.size(); ++row) {
    if (group->wanted[row] == Command::kBegin) {  // The result of its last action is not wanted.
      continue;
    }
    const int64_t lane = group->first_lane + static_cast<int64_t>(row);
    const absl::StatusOr<TakenRow> taken = ReadRowOf(*group, lane);
    if (!taken.ok()) {
      return Lose(group, Annotate(taken.status(), absl::StrCat("lane ", lane)));
    }
    taken_.push_back(*taken);
  }
  for (const TakenRow& taken : taken_) {
    if (taken.step.type == StepType::kFirst) {
      rows_->ZeroRewards();
    }
    rows_->Add(taken.lane, taken.step.type, taken.step.discount);
  }
  std::fill(group->told.begin(), group->told.end(), Command::kNothing);
  group->in_sequence = options_.batch > 0 || group->session->answer().state() == dm::RUNNING;
  group->session->Accept();
  group->running = group->answered = false;
  group->restarts.Answered();
  return absl::OkStatus();
}

absl::StatusOr<RpcEnvironments::TakenRow> RpcEnvironments::ReadRowOf(const Group& group, int64_t lane) {
  const RpcSession& session = *group.session;
  WAGGLE_ASSIGN_OR_RETURN(const RpcRow read, ReadRow(session.spec(), session.answer(), lane - group.first_lane,
                                                     static_cast<int64_t>(taken_.size()), rows_.get()));
  const bool begins = group.begins || (options_.batch > 0 && rows_->AtEnd(lane));
  WAGGLE_ASSIGN_OR_RETURN(const RpcStep step, StepOf(session.answer().state(), read, begins));
  return TakenRow{lane, step};
}

absl::Status RpcEnvironments::Lose(Group* group, const absl::Status& why) {
  const bool is_opening = rows_ == nullptr;
  health_.last_error = absl::StrCat(AddressOf(*group), ": ", OneLine(why.message(), kMaxShownText));
  const bool was_ready = std::exchange(group->ready, false);
  group->restarts.Failed();
  if (group->session->has_created()) {  // Even if it could not be joined.
    group->world_name = group->session->world_name();
  }
  const absl::Time now = SteadyNow();
  if (is_opening && !(absl::IsUnavailable(why) && now < created_at_ + options_.open_patience)) {
    GiveUp(group, why);
    return absl::Status(why.code(), health_.last_error);
  }
  if (!is_opening && (absl::IsFailedPrecondition(why) || group->restarts.Exhausted(options_.restarts))) {
    GiveUp(group, why);
    return absl::FailedPreconditionError(
        absl::IsFailedPrecondition(why) ? health_.last_error
                                        : absl::StrCat("a stream to an environment's server failed ",
                                                       group->restarts.failures(), " times: ", health_.last_error));
  }
  const absl::Duration pause = group->restarts.Pause(options_.restarts);
  LogWarning(health_.last_error, "; opening the stream again in ", absl::FormatDuration(pause));
  group->session->Cancel();
  group->acts_at = now + pause;
  if (group->session->shown() != nullptr) {
    std::swap(group->lost, group->session);
  }
  if (group->session != nullptr) {
    Retire(std::move(group->session));
  }
  if (was_ready) {
    EndLanes(group);
  }
  return absl::OkStatus();
}

void RpcEnvironments::GiveUp(Group* group, const absl::Status& why) {
  if (absl::IsDeadlineExceeded(why)) {  // The server would not answer a request to leave either.
    group->session->Cancel();
  } else {
    group->session->LeaveOrCancel();
  }
  Retire(std::move(group->session));
  // A reset may follow, and must reopen the stream at once.
  group->acts_at = SteadyNow();
  group->running = group->answered = false;
  std::fill(group->told.begin(), group->told.end(), Command::kNothing);
}

void RpcEnvironments::EndLanes(Group* group) {
  for (size_t row = 0; row < group->told.size(); ++row) {
    const auto lane = group->first_lane + static_cast<int64_t>(row);
    const Command command = group->wanted[row] != Command::kNothing ? group->wanted[row] : group->told[row];
    group->wanted[row] = Command::kNothing;
    if (command == Command::kNothing) {
      ended_[static_cast<size_t>(lane)] = 1;
    } else if (command == Command::kStep && !rows_->AtEnd(lane)) {
      EndEpisode(*group, row);
    } else {
      group->wanted[row] = Command::kBegin;
    }
    group->told[row] = Command::kNothing;
  }
  group->running = group->answered = false;
}

void RpcEnvironments::EndEpisode(const Group& group, size_t row) {
  if (group.lost != nullptr) {  // The answer was read before, so there is no error.
    ReadRow(group.lost->spec(), *group.lost->shown(), static_cast<int64_t>(row), 0, rows_.get()).IgnoreError();
  }
  rows_->ZeroRewards();
  rows_->Add(group.first_lane + static_cast<int64_t>(row), StepType::kLast, 1);
  ++health_.broken_episodes;
}

void RpcEnvironments::Retire(std::unique_ptr<RpcSession> session) {
  if (!session->has_ended()) {
    retired_.push_back(std::move(session));
  }
}

}  // namespace waggle
