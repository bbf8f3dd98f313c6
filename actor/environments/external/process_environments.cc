#include "actor/environments/external/process_environments.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/acting/action_scaling.h"
#include "actor/environments/leaf_elements.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/dtype.h"

namespace waggle {
namespace {

// Between checks of the stop token.
constexpr absl::Duration kLook = absl::Milliseconds(50);

// The lanes of each group of a process: two groups, so that one steps while actions are chosen for the other.
std::vector<int64_t> GroupLanes(int64_t lanes) {
  return lanes == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{(lanes + 1) / 2, lanes / 2};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessEnvironments>> ProcessEnvironments::Create(
    const ProcessEnvironmentsOptions& options, const StopToken& stop) {
  if (options.lanes < 1 || options.processes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", options.lanes, " lanes in ", options.processes, " processes; wanted at least 1 of each"));
  }
  const int64_t processes = std::min(options.processes, options.lanes);
  std::vector<Worker> workers;
  int64_t first_lane = 0;
  for (int64_t i = 0; i < processes; ++i) {
    Worker& worker = workers.emplace_back();
    const int64_t lanes = options.lanes / processes + (i < options.lanes % processes ? 1 : 0);
    worker.options = {options.command,          options.scheme,    options.options_json,
                      options.environment_name, GroupLanes(lanes), first_lane};
    for (const int64_t group_lanes : worker.options.group_lanes) {
      Group& group = worker.groups.emplace_back();
      group.first_lane = first_lane;
      group.wanted.resize(static_cast<size_t>(group_lanes), LaneCommand::kLeave);
      group.told = group.wanted;
      first_lane += group_lanes;
    }
  }
  std::unique_ptr<ProcessEnvironments> environments(new ProcessEnvironments(options, std::move(workers)));
  WAGGLE_RETURN_IF_ERROR(environments->AwaitFirstSpecs(stop));
  return environments;
}

ProcessEnvironments::ProcessEnvironments(ProcessEnvironmentsOptions options, std::vector<Worker> workers)
    : options_(std::move(options)), workers_(std::move(workers)), ended_(static_cast<size_t>(options_.lanes)) {
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    for (size_t group = 0; group < workers_[worker].groups.size(); ++group) {
      for (size_t row = 0; row < workers_[worker].groups[group].wanted.size(); ++row) {
        places_.push_back({worker, group, static_cast<int64_t>(row)});
      }
    }
  }
  health_.processes = static_cast<int64_t>(workers_.size());
}

absl::Status ProcessEnvironments::AwaitFirstSpecs(const StopToken& stop) {
  const auto all_ready = [this] {
    return std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.ready; });
  };
  while (!all_ready()) {
    if (stop.StopRequested()) {
      return absl::CancelledError("opening the environment was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(Poll(kLook));
  }
  rows_ = std::make_unique<ReadyRows>(spec(), lanes());
  return absl::OkStatus();
}

absl::Status ProcessEnvironments::Reset() {
  rows_->Clear();
  std::vector<int64_t> all(static_cast<size_t>(lanes()));
  std::iota(all.begin(), all.end(), 0);
  return Start(all);
}

absl::Status ProcessEnvironments::Start(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    const Place& place = places_[static_cast<size_t>(lane)];
    workers_[place.worker].groups[place.group].wanted[static_cast<size_t>(place.row)] = LaneCommand::kReset;
    ended_[static_cast<size_t>(lane)] = 0;
  }
  return RunAllDue();
}

absl::Status ProcessEnvironments::RunAllDue() {
  for (Worker& worker : workers_) {
    for (size_t group = 0; group < worker.groups.size(); ++group) {
      WAGGLE_RETURN_IF_ERROR(RunIfDue(&worker, group));
    }
  }
  return absl::OkStatus();
}

absl::Status ProcessEnvironments::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    const Place& place = places_[static_cast<size_t>(lanes[i])];
    Worker& worker = workers_[place.worker];
    Group& group = worker.groups[place.group];
    const auto row = static_cast<size_t>(place.row);
    if (std::exchange(ended_[static_cast<size_t>(lanes[i])], 0) != 0 && NeedsEnd(lanes[i])) {
      EndEpisode(worker, place.group, place.row);
      continue;
    }
    if (!worker.ready) {
      group.wanted[row] = LaneCommand::kReset;
      continue;
    }
    LaneGroup& memory = worker.process->groups()[place.group];
    for (size_t leaf = 0; leaf < action_bytes_.size(); ++leaf) {
      const char* const chosen = static_cast<const char*>(actions[leaf]) + i * action_bytes_[leaf];
      char* const taken = memory.actions[leaf] + row * action_bytes_[leaf];
      if (action_scaled_[leaf]) {
        ScaleAction(spec().actions[leaf], reinterpret_cast<const float*>(chosen), reinterpret_cast<float*>(taken));
      } else {
        std::memcpy(taken, chosen, action_bytes_[leaf]);
      }
    }
    group.wanted[row] = LaneCommand::kStep;
  }
  return RunAllDue();
}

absl::StatusOr<ReadyLanes> ProcessEnvironments::Recv(int64_t at_least, const StopToken& stop) {
  absl::Duration timeout = absl::ZeroDuration();
  do {
    if (stop.StopRequested()) {
      return absl::CancelledError("waiting for the environment was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(Poll(timeout));
    if (options_.in_order) {
      WAGGLE_RETURN_IF_ERROR(TakeAllInOrder());
    }
    timeout = kLook;
  } while (rows_->rows() < at_least);
  return rows_->Show();
}

absl::Status ProcessEnvironments::Poll(absl::Duration timeout) {
  std::vector<pollfd> polled;
  std::vector<Worker*> of;
  for (Worker& worker : workers_) {
    if (worker.process == nullptr && SteadyNow() >= worker.acts_at) {
      WAGGLE_RETURN_IF_ERROR(Start(&worker));
    }
    if (worker.process != nullptr) {
      polled.push_back({worker.process->descriptor(), POLLIN, 0});
      of.push_back(&worker);
    }
  }
  const int ready = poll(polled.data(), polled.size(), static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  for (size_t i = 0; ready > 0 && i < polled.size(); ++i) {
    if (polled[i].revents != 0) {
      WAGGLE_RETURN_IF_ERROR(TakeFrom(of[i]));
    }
  }
  if (ready > 0) {
    return absl::OkStatus();
  }
  for (Worker& worker : workers_) {
    const bool waits = !worker.ready || std::any_of(worker.groups.begin(), worker.groups.end(), [](const Group& group) {
      return group.running && !group.answered;
    });
    if (worker.process != nullptr && waits && SteadyNow() >= worker.acts_at) {
      const absl::Duration allowed = worker.ready ? options_.step_timeout : options_.open_timeout;
      WAGGLE_RETURN_IF_ERROR(
          Lose(&worker, absl::DeadlineExceededError(absl::StrCat(options_.environment_name, ": no answer within ",
                                                                 absl::FormatDuration(allowed)))));
    }
  }
  return absl::OkStatus();
}

absl::Status ProcessEnvironments::Start(Worker* worker) {
  health_.restarts += worker->restarts.Started() ? 1 : 0;
  WAGGLE_ASSIGN_OR_RETURN(worker->process, EnvironmentProcess::Start(worker->options));
  worker->acts_at = SteadyNow() + options_.open_timeout;
  return absl::OkStatus();
}

absl::Status ProcessEnvironments::TakeFrom(Worker* worker) {
  std::vector<size_t> done;
  absl::Status status = worker->process->Receive(&done);
  if (status.ok() && !worker->ready && worker->process->ready()) {
    WAGGLE_RETURN_IF_ERROR(BecomeReady(worker));
  }
  for (const size_t group : done) {
    if (status.ok()) {
      status = CheckGroup(*worker, group);
    }
    if (status.ok() && options_.in_order) {
      worker->groups[group].answered = true;
    } else if (status.ok()) {
      TakeRows(worker, group);
      status = RunIfDue(worker, group);
    }
  }
  return status.ok() ? status : Lose(worker, status);
}

absl::Status ProcessEnvironments::TakeAllInOrder() {
  for (const Worker& worker : workers_) {
    if (std::any_of(worker.groups.begin(), worker.groups.end(),
                    [](const Group& group) { return group.running && !group.answered; })) {
      return absl::OkStatus();
    }
  }
  for (Worker& worker : workers_) {
    for (size_t group = 0; group < worker.groups.size(); ++group) {
      if (worker.groups[group].answered) {
        TakeRows(&worker, group);
      }
    }
  }
  return RunAllDue();
}

absl::Status ProcessEnvironments::BecomeReady(Worker* worker) {
  const ExternalSpec& said = *worker->process->spec();
  if (!have_spec_) {
    spec_ = said;
    have_spec_ = true;
    for (const SpaceLeaf& leaf : spec().observations) {
      observation_bytes_.push_back(static_cast<size_t>(leaf.array.NumBytes()));
    }
    for (const SpaceLeaf& leaf : spec().actions) {
      action_bytes_.push_back(static_cast<size_t>(leaf.array.NumBytes()));
      action_scaled_.push_back(IsScaledAction(leaf));
    }
    for (const std::string& note : spec_.notes) {
      LogInfo(options_.environment_name, ": ", note);
    }
  } else if (!(said.environment == spec_.environment) || said.whole_groups != spec_.whole_groups) {
    return absl::FailedPreconditionError(absl::StrCat("environment: got ", said.environment.DebugString(),
                                                      "; wanted, as before, ", spec_.environment.DebugString()));
  }
  worker->ready = true;
  for (size_t g = 0; g < worker->groups.size(); ++g) {
    LaneGroup& memory = worker->process->groups()[g];
    for (int64_t row = 0; row < memory.lanes; ++row) {
      const auto lane = static_cast<uint64_t>(memory.first_lane + row);
      // A restarted process must not repeat earlier draws.
      memory.seeds[row] = Rng::Split(Rng::Split(options_.seed, "lane", lane).Next(), "start",
                                     static_cast<uint64_t>(worker->restarts.starts()))
                              .Next();
    }
    WAGGLE_RETURN_IF_ERROR(RunIfDue(worker, g));
  }
  return absl::OkStatus();
}

absl::Status ProcessEnvironments::RunIfDue(Worker* worker, size_t g) {
  Group& group = worker->groups[g];
  const auto wanted = std::count_if(group.wanted.begin(), group.wanted.end(),
                                    [](LaneCommand command) { return command != LaneCommand::kLeave; });
  const bool enough = spec_.whole_groups ? wanted == static_cast<std::ptrdiff_t>(group.wanted.size()) : wanted > 0;
  if (!worker->ready || group.running || !enough) {
    return absl::OkStatus();
  }
  const LaneGroup& memory = worker->process->groups()[g];
  std::copy(group.wanted.begin(), group.wanted.end(), memory.commands);
  group.told.swap(group.wanted);
  std::fill(group.wanted.begin(), group.wanted.end(), LaneCommand::kLeave);
  group.running = true;
  worker->acts_at = SteadyNow() + options_.step_timeout;
  const absl::Status told = worker->process->Run(g);
  return told.ok() ? told : Lose(worker, told);
}

absl::Status ProcessEnvironments::CheckGroup(const Worker& worker, size_t g) const {
  const Group& group = worker.groups[g];
  for (size_t row = 0; row < group.told.size(); ++row) {
    if (group.told[row] == LaneCommand::kLeave) {
      continue;
    }
    const int64_t lane = group.first_lane + static_cast<int64_t>(row);
    const bool begins = group.told[row] == LaneCommand::kReset || rows_->AtEnd(lane);
    const absl::Status right = CheckRow(spec(), worker.process->groups()[g], row, begins);
    WAGGLE_RETURN_IF_ERROR(Annotate(right, absl::StrCat(options_.environment_name, ", lane ", lane)));
  }
  return absl::OkStatus();
}

void ProcessEnvironments::TakeRows(Worker* worker, size_t g) {
  Group& group = worker->groups[g];
  group.running = group.answered = false;
  const LaneGroup& memory = worker->process->groups()[g];
  for (size_t row = 0; row < group.told.size(); ++row) {
    if (group.told[row] == LaneCommand::kLeave) {
      continue;
    }
    AddRow(memory, static_cast<int64_t>(row));
    const bool first = memory.step_types[row] == static_cast<int32_t>(StepType::kFirst);
    for (size_t leaf = 0; leaf < memory.rewards.size() && !first; ++leaf) {
      const size_t elements = rows_->RewardElements(leaf);
      std::copy_n(memory.rewards[leaf] + row * elements, elements, rows_->Rewards(leaf));
    }
    if (first) {
      rows_->ZeroRewards();
    }
    rows_->Add(group.first_lane + static_cast<int64_t>(row), static_cast<StepType>(memory.step_types[row]),
               first ? 0 : memory.discounts[row]);
  }
  worker->restarts.Answered();
}

void ProcessEnvironments::AddRow(const LaneGroup& memory, int64_t row) {
  for (size_t leaf = 0; leaf < observation_bytes_.size(); ++leaf) {
    const size_t bytes = observation_bytes_[leaf];
    std::memcpy(static_cast<char*>(rows_->observations()[leaf]) + static_cast<size_t>(rows_->rows()) * bytes,
                memory.observations[leaf] + static_cast<size_t>(row) * bytes, bytes);
  }
}

absl::Status ProcessEnvironments::Lose(Worker* worker, const absl::Status& why) {
  health_.last_error = std::string(why.message());
  const bool was_ready = std::exchange(worker->ready, false);
  worker->restarts.Failed();
  // A process that never worked is not started again.
  if (!have_spec_ || absl::IsInvalidArgument(why) || absl::IsFailedPrecondition(why) ||
      worker->restarts.Exhausted(options_.restarts)) {
    return absl::FailedPreconditionError(!have_spec_ || absl::IsInvalidArgument(why) || worker->restarts.failures() == 1
                                             ? health_.last_error
                                             : absl::StrCat("an environment process failed ",
                                                            worker->restarts.failures(),
                                                            " times: ", health_.last_error));
  }
  const absl::Duration pause = worker->restarts.Pause(options_.restarts);
  LogWarning(why.message(), "; starting it again in ", absl::FormatDuration(pause));
  worker->acts_at = SteadyNow() + pause;
  if (!was_ready) {
    worker->process.reset();
    return absl::OkStatus();
  }
  worker->lost = std::move(worker->process);
  for (size_t g = 0; g < worker->groups.size(); ++g) {
    Group& group = worker->groups[g];
    for (size_t row = 0; row < group.told.size(); ++row) {
      const int64_t lane = group.first_lane + static_cast<int64_t>(row);
      LaneCommand command = group.wanted[row];
      if (group.running && group.told[row] != LaneCommand::kLeave) {
        command = group.told[row];
      }
      group.wanted[row] = LaneCommand::kLeave;
      if (command == LaneCommand::kLeave) {
        ended_[static_cast<size_t>(lane)] = 1;
      } else if (command == LaneCommand::kStep && NeedsEnd(lane)) {
        EndEpisode(*worker, g, static_cast<int64_t>(row));
      } else {
        group.wanted[row] = LaneCommand::kReset;
      }
    }
    group.running = group.answered = false;
  }
  return absl::OkStatus();
}

bool ProcessEnvironments::NeedsEnd(int64_t lane) const {
  // Lanes that step together must begin their next episodes at once: a lane at an episode's end shows it again.
  return spec_.whole_groups || !rows_->AtEnd(lane);
}

void ProcessEnvironments::EndEpisode(const Worker& worker, size_t g, int64_t row) {
  AddRow(worker.lost->groups()[g], row);
  // The observations may be why the process was lost.
  for (size_t leaf = 0; leaf < observation_bytes_.size(); ++leaf) {
    char* const shown =
        static_cast<char*>(rows_->observations()[leaf]) + static_cast<size_t>(rows_->rows()) * observation_bytes_[leaf];
    if (!CheckObservation(spec().observations[leaf], shown).ok()) {
      std::memset(shown, 0, observation_bytes_[leaf]);
    }
  }
  rows_->ZeroRewards();
  rows_->Add(worker.groups[g].first_lane + row, StepType::kLast, 1);
  ++health_.broken_episodes;
}

}  // namespace waggle
