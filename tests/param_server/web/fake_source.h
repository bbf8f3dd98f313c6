#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/hub/hub_convert.h"
#include "param_server/web/web_source.h"

namespace waggle::testing {

// A hub of any number of experiments and workers, which do not change by themselves. Not thread-safe while it changes.
class FakeSource final : public WebSource {
 public:
  // Experiment i of N has the sequence i + 1 and the id "pole-i". Every fifth one runs, the newest is queued. Their
  // output folders are `folder`/pole-i. All have the same overview, with actors up to this number of workers.
  FakeSource(int experiments, int members, int workers, std::string folder, v1::OverviewResponse overview)
      : folder_(std::move(folder)), overview_(std::move(overview)) {
    for (int i = 0; i < experiments; ++i) {
      v1::ExperimentInfo info;
      info.set_id(absl::StrCat("pole-", i));
      info.set_name(i % 2 == 0 ? "pole" : "cart");
      info.set_algorithm("apex_dqn");
      info.set_environment("CartPole-v1");
      info.set_seed(i);
      info.set_state(i == experiments - 1 ? v1::RUN_STATE_QUEUED
                     : i % 5 == 0         ? v1::RUN_STATE_RUNNING
                                          : v1::RUN_STATE_SOLVED);
      info.set_reason(i == experiments - 1 ? "waits for a learner" : "");
      info.set_submitted_at_us(1'000'000'000'000 + i);
      info.set_started_at_us(1'000'000'000'000 + i);
      info.set_ended_at_us(info.state() == v1::RUN_STATE_SOLVED ? 1'000'000'000'000 + i : 0);
      info.set_env_steps(1'000'000);
      info.set_learner_steps(30'000);
      info.set_output_folder(absl::StrCat(folder_, "/", info.id()));
      infos_.push_back(std::move(info));
    }
    for (int i = 0; i < members; ++i) {
      v1::PoolMember member;
      member.set_worker_id(absl::StrCat("worker-", i));
      member.set_kind(i % 10 == 0 ? v1::WORKER_KIND_LEARNER : v1::WORKER_KIND_ACTOR);
      member.set_host(absl::StrCat("bee-", i / 8));
      member.set_process_id(4000 + i);
      member.set_address("10.0.0.1:7001");
      v1::WorkOrder* const order = member.add_orders();
      order->set_experiment_id("pole-0");
      order->set_role(v1::ROLE_ACTOR);
      order->set_index(static_cast<uint32_t>(i));
      members_.push_back(std::move(member));
    }
    for (int i = overview_.workers_size(); i < workers; ++i) {
      AddActor(i);
    }
  }

  // An actor at work, in the overview of every experiment.
  void AddActor(int index) {
    v1::WorkerInfo* const worker = overview_.add_workers();
    worker->set_worker_id(absl::StrCat("actor-", index));
    worker->set_role(v1::ROLE_ACTOR);
    worker->set_index(static_cast<uint32_t>(index));
    worker->set_host("bee");
    worker->set_process_id(4000 + index);
    worker->set_activity("acting");
    worker->set_alive(true);
    (*worker->mutable_rates())["env_steps"] = 8'100;
    (*worker->mutable_gauges())["return_mean"] = 200;
    (*worker->mutable_gauges())["waiting_fraction"] = 0.1;
  }

  std::vector<v1::PoolMember> Members() override { return members_; }
  v1::ListExperimentsResponse List(const ExperimentQuery& query) override {
    v1::ListExperimentsResponse page;
    for (int64_t i = std::min<int64_t>(static_cast<int64_t>(infos_.size()), query.before - 1) - 1; i >= 0; --i) {
      const v1::ExperimentInfo& info = infos_[static_cast<size_t>(i)];
      if (page.experiments_size() == query.limit) {
        page.set_next_page_token(absl::StrCat(i + 2));
        break;
      }
      if ((query.states.empty() || query.states.count(*FromProto(info.state())) > 0) &&
          (query.name.empty() || info.name() == query.name)) {
        *page.add_experiments() = info;
      }
    }
    return page;
  }
  absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id) override {
    v1::ExperimentInfo* const info = Find(id);
    return info == nullptr ? Unknown(id) : absl::StatusOr<v1::ExperimentInfo>(*info);
  }
  absl::StatusOr<v1::OverviewResponse> Overview(const std::string& id) override {
    return Find(id) == nullptr ? Unknown(id) : absl::StatusOr<v1::OverviewResponse>(overview_);
  }
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id) override {
    return Find(id) == nullptr
               ? Unknown(id)
               : absl::StatusOr<ExperimentTexts>(ExperimentTexts{"", "submitted: <b>1</b>\n", "effective: 2\n", ""});
  }
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after) override {
    std::vector<ExperimentEvent> events;
    for (uint64_t number = after + 1; number <= 3; ++number) {
      events.push_back({number, absl::FromUnixSeconds(static_cast<int64_t>(number)), absl::StrCat("event ", number)});
    }
    return Find(id) == nullptr ? Unknown(id) : absl::StatusOr<std::vector<ExperimentEvent>>(events);
  }
  absl::Status Stop(const std::string& id) override { return SetState(id, v1::RUN_STATE_STOPPED); }
  absl::Status SetPriority(const std::string& id, int64_t priority) override {
    v1::ExperimentInfo* const info = Find(id);
    if (info == nullptr) {
      return Unknown(id);
    }
    info->set_priority(static_cast<int32_t>(priority));
    return absl::OkStatus();
  }
  absl::Status Resume(const std::string& id) override {
    const v1::ExperimentInfo* const info = Find(id);
    return info != nullptr && info->state() != v1::RUN_STATE_STOPPED
               ? absl::FailedPreconditionError("only stopped experiments can be resumed")
               : SetState(id, v1::RUN_STATE_QUEUED);
  }

  v1::OverviewResponse* overview() { return &overview_; }

 private:
  static absl::Status Unknown(const std::string& id) {
    return absl::NotFoundError(absl::StrCat("there is no experiment \"", id, "\""));
  }
  v1::ExperimentInfo* Find(const std::string& id) {
    const auto found = std::find_if(infos_.begin(), infos_.end(), [&id](const auto& info) { return info.id() == id; });
    return found == infos_.end() ? nullptr : &*found;
  }
  absl::Status SetState(const std::string& id, v1::RunState state) {
    v1::ExperimentInfo* const info = Find(id);
    if (info == nullptr) {
      return Unknown(id);
    }
    info->set_state(state);
    return absl::OkStatus();
  }

  const std::string folder_;
  std::vector<v1::ExperimentInfo> infos_;
  std::vector<v1::PoolMember> members_;
  v1::OverviewResponse overview_;
};

}  // namespace waggle::testing
