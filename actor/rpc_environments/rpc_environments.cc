#include "actor/rpc_environments/rpc_environments.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/machine_memory.h"
#include "common/base/random.h"
#include "common/base/shown_text.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/tensor/dtype.h"

namespace waggle {
namespace {

// Between checks of the stop token and of deadlines.
constexpr absl::Duration kLook = absl::Milliseconds(50);
// The time that servers have to destroy their worlds.
constexpr absl::Duration kFarewell = absl::Seconds(1);
constexpr size_t kMaxShownText = 500;
// Other servers' seeds may be limited to 31 bits.
constexpr uint64_t kMaxSeed = 0x7FFFFFFF;

gpr_timespec FromNow(absl::Duration duration) {
  return duration <= absl::ZeroDuration()
             ? gpr_inf_past(GPR_CLOCK_MONOTONIC)
             : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                            gpr_time_from_nanos(absl::ToInt64Nanoseconds(duration), GPR_TIMESPAN));
}

// A world that was created or joined must be left.
void LeaveOrCancel(RpcSession* session) {
  if (session->is_joined() || session->has_created()) {
    session->Leave();
  } else {
    session->Cancel();
  }
}

void SetSeed(int64_t seed, RpcSettings* settings) {
  dm::Tensor tensor;
  tensor.mutable_int64s()->add_array(seed);
  (*settings)[kSeedSetting] = tensor;
}

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
        LeaveOrCancel(session->get());
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
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
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
  void* tag = nullptr;
  bool ok = false;
  gpr_timespec until = FromNow(timeout);
  while (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
    WAGGLE_RETURN_IF_ERROR(TakeEvent(*static_cast<const RpcStream::Operation*>(tag), ok));
    until = FromNow(absl::ZeroDuration());
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
  health_.restarts += group->opened++ > 0 && rows_ != nullptr ? 1 : 0;
  RpcSessionOptions session = options_.session;
  session.spec.lanes = static_cast<int64_t>(group->told.size());
  session.spec.batched = options_.batch > 0;
  if (session.creates_world) {
    session.world_name = group->world_name;
  }
  if (session.spec.batched) {
    dm::Tensor lanes;
    lanes.mutable_int64s()->add_array(session.spec.lanes);
    session.join[kLanesSetting] = lanes;
  }
  // A reopened stream must not repeat earlier draws.
  const uint64_t own = Rng::Split(options_.seed, "lane", static_cast<uint64_t>(group->first_lane)).Next();
  const auto seed =
      static_cast<int64_t>(Rng::Split(own, "start", static_cast<uint64_t>(group->opened)).Next() & kMaxSeed);
  if (options_.seeds_world) {
    SetSeed(seed, &session.world);
  }
  if (options_.seeds_join) {
    SetSeed(seed, &session.join);
  }
  const RpcEnvironmentsOptions::Server& server = options_.servers[group->number % options_.servers.size()];
  group->session = std::make_unique<RpcSession>(std::move(session), server.channel, &queue_, group->number);
  group->acts_at = SteadyNow() + options_.open_timeout;
  group->answers = 0;
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
  const int64_t row_bytes = BytesARow(ArraysOf(spec.environment.observations));
  const int64_t memory = MachineMemoryBytes();
  if (2 * row_bytes > memory / 2 / options_.lanes) {
    return absl::InvalidArgumentError(absl::StrCat("the observations of ", options_.lanes, " lanes of ", row_bytes,
                                                   " bytes each, twice, take more than half of this machine's memory, ",
                                                   memory, " bytes"));
  }
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
    if (taken.step_type == StepType::kFirst) {
      rows_->ZeroRewards();
    }
    rows_->Add(taken.lane, taken.step_type, taken.discount);
  }
  std::fill(group->told.begin(), group->told.end(), Command::kNothing);
  group->in_sequence = options_.batch > 0 || group->session->answer().state() == dm::RUNNING;
  group->session->Accept();
  group->running = group->answered = false;
  if (++group->answers >= kProvenAnswers) {
    group->failures = 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<RpcEnvironments::TakenRow> RpcEnvironments::ReadRowOf(const Group& group, int64_t lane) {
  const RpcSession& session = *group.session;
  WAGGLE_ASSIGN_OR_RETURN(const RpcRow read, ReadRow(session.spec(), session.answer(), lane - group.first_lane,
                                                     static_cast<int64_t>(taken_.size()), rows_.get()));
  return KindOf(group, lane, read);
}

absl::StatusOr<RpcEnvironments::TakenRow> RpcEnvironments::KindOf(const Group& group, int64_t lane,
                                                                  const RpcRow& row) const {
  const dm::EnvironmentStateType state = group.session->answer().state();
  bool begins = group.begins;
  bool ends = state == dm::TERMINATED || state == dm::INTERRUPTED;
  if (options_.batch > 0) {
    begins = begins || rows_->AtEnd(lane);
    ends = *row.step_type == static_cast<int32_t>(StepType::kLast);
    const bool is_first = *row.step_type == static_cast<int32_t>(StepType::kFirst);
    if (is_first != begins || (!is_first && !ends && *row.step_type != static_cast<int32_t>(StepType::kMid))) {
      return absl::InternalError(absl::StrCat(kStepTypeName, ": got ", *row.step_type, "; wanted ",
                                              begins ? "0, as an episode begins" : "1 or 2"));
    }
  }
  // A step that begins sequences must not end one. A stream of several lanes is always running.
  if (state != dm::RUNNING && (!ends || begins || options_.batch > 0)) {
    return absl::InternalError(absl::StrCat("state: got ", static_cast<int>(state), "; wanted ",
                                            static_cast<int>(dm::RUNNING), begins ? ", as an episode begins" : ""));
  }
  if (begins) {
    return TakenRow{lane, StepType::kFirst, 0};
  }
  return TakenRow{lane, ends ? StepType::kLast : StepType::kMid,
                  row.discount.value_or(state == dm::TERMINATED ? 0.0F : 1.0F)};
}

absl::Status RpcEnvironments::Lose(Group* group, const absl::Status& why) {
  const bool is_opening = rows_ == nullptr;
  health_.last_error = absl::StrCat(AddressOf(*group), ": ", OneLine(why.message(), kMaxShownText));
  const bool was_ready = std::exchange(group->ready, false);
  ++group->failures;
  if (group->session->has_created()) {  // Even if it could not be joined.
    group->world_name = group->session->world_name();
  }
  const absl::Time now = SteadyNow();
  if (is_opening && !(absl::IsUnavailable(why) && now < created_at_ + options_.open_patience)) {
    GiveUp(group, why);
    return absl::Status(why.code(), health_.last_error);
  }
  if (!is_opening && (absl::IsFailedPrecondition(why) || group->failures >= options_.max_failures)) {
    GiveUp(group, why);
    return absl::FailedPreconditionError(absl::IsFailedPrecondition(why)
                                             ? health_.last_error
                                             : absl::StrCat("a stream to an environment's server failed ",
                                                            group->failures, " times: ", health_.last_error));
  }
  const absl::Duration pause =
      std::min(options_.max_retry, options_.first_retry * std::exp2(static_cast<double>(group->failures - 1)));
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
    LeaveOrCancel(group->session.get());
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
