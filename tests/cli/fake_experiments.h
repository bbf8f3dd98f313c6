#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "tests/support/text_proto.h"
#include "waggle/v1/experiment.grpc.pb.h"

namespace waggle::testing {

// A running experiment.
inline v1::ExperimentInfo RunningExperiment(const std::string& id) {
  auto info = FromText<v1::ExperimentInfo>(R"(
      name: "pole" algorithm: "apex_dqn" environment: "CartPole-v1" seed: 7 state: RUN_STATE_RUNNING attempts: 1
      submitted_at_us: 999990000000 started_at_us: 1000000000000 env_steps: 198432 workers: 4 workers_wanted: 5)");
  info.set_id(id);
  info.set_output_folder("/data/" + id);
  return info;
}

// A hub's experiments, with fixed answers. Change them only while no call runs, or in the hooks.
class FakeExperiments final : public v1::ExperimentService::Service {
 public:
  std::vector<v1::ExperimentInfo> experiments = {RunningExperiment("pole-x7k2q")};
  v1::PoolResponse pool;
  std::vector<v1::ExperimentEvent> events;
  std::vector<v1::SubmitRequest> submitted;
  std::vector<std::string> members;  // Ids that Submit gives, as a group; empty: one id, and no group.
  std::vector<std::string> warnings;
  std::vector<v1::ListExperimentsRequest> lists;
  std::vector<v1::ExperimentGroup> groups;  // Listed if the request folds groups.
  // The status of Submit, after it has taken the experiment.
  std::function<grpc::Status()> after_submit = [] { return grpc::Status::OK; };
  // Called first by Get.
  std::function<grpc::Status()> before_get = [] { return grpc::Status::OK; };
  std::vector<std::string> changes;  // "stop ID".

  grpc::Status Submit(grpc::ServerContext*, const v1::SubmitRequest* request, v1::SubmitResponse* response) override {
    MutexLock lock(&mutex_);
    submitted.push_back(*request);
    response->set_id(members.empty() ? "pole-99abc" : members.front());
    response->mutable_members()->Add(members.begin(), members.end());
    response->set_group(members.empty() ? "" : "pole-99abc");
    response->mutable_warnings()->Add(warnings.begin(), warnings.end());
    return after_submit();
  }
  // A page token is an index of `experiments`.
  grpc::Status List(grpc::ServerContext*, const v1::ListExperimentsRequest* request,
                    v1::ListExperimentsResponse* response) override {
    MutexLock lock(&mutex_);
    const auto& states = request->states();
    lists.push_back(*request);
    if (request->fold_groups() && request->page_token().empty()) {
      response->mutable_groups()->Add(groups.begin(), groups.end());
    }
    for (size_t i = request->page_token().empty() ? 0 : std::stoul(request->page_token()); i < experiments.size();
         ++i) {
      if (!states.empty() && std::find(states.begin(), states.end(), experiments[i].state()) == states.end()) {
        continue;
      }
      if (response->experiments_size() == static_cast<int>(request->limit())) {
        response->set_next_page_token(std::to_string(i));
        break;
      }
      *response->add_experiments() = experiments[i];
    }
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::GetExperimentRequest* request,
                   v1::ExperimentInfo* response) override {
    MutexLock lock(&mutex_);
    const grpc::Status status = before_get();
    return status.ok() ? Find(request->id(), response) : status;
  }
  // All experiments that begin with the word; a group if they have one.
  grpc::Status Resolve(grpc::ServerContext*, const v1::ResolveRequest* request,
                       v1::ResolveResponse* response) override {
    MutexLock lock(&mutex_);
    for (const v1::ExperimentInfo& one : experiments) {
      if (one.id().rfind(request->word(), 0) == 0 && (response->ids().empty() || !one.group().empty())) {
        response->add_ids(one.id());
        response->set_group(one.group());
      }
    }
    return response->ids().empty() ? grpc::Status(grpc::StatusCode::NOT_FOUND, "there is none") : grpc::Status::OK;
  }
  grpc::Status SetPriority(grpc::ServerContext*, const v1::SetPriorityRequest* request,
                           v1::ExperimentInfo* response) override {
    MutexLock lock(&mutex_);
    changes.push_back("priority " + request->id());
    const grpc::Status status = Find(request->id(), response);
    response->set_priority(request->priority());
    return status;
  }
  grpc::Status Stop(grpc::ServerContext*, const v1::StopExperimentRequest* request,
                    v1::ExperimentInfo* response) override {
    return Change("stop", request->id(), v1::RUN_STATE_STOPPED, response);
  }
  grpc::Status Resume(grpc::ServerContext*, const v1::ResumeExperimentRequest* request,
                      v1::ExperimentInfo* response) override {
    std::string what = "resume";
    for (const v1::SetNumbersRequest::Number& limit : request->limits()) {
      what += " " + limit.key() + "=" + limit.value();
    }
    return Change(what, request->id(), v1::RUN_STATE_QUEUED, response);
  }
  grpc::Status Delete(grpc::ServerContext*, const v1::DeleteExperimentRequest* request,
                      v1::DeleteExperimentResponse*) override {
    v1::ExperimentInfo info;
    const grpc::Status status = Change("delete", request->id(), v1::RUN_STATE_STOPPED, &info);
    return status.ok() && info.ended_at_us() == 0
               ? grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, request->id() + " has not ended")
               : status;
  }
  grpc::Status Set(grpc::ServerContext*, const v1::SetNumbersRequest* request,
                   v1::SetNumbersResponse* response) override {
    v1::ExperimentInfo info;
    MutexLock lock(&mutex_);
    for (const v1::SetNumbersRequest::Number& number : request->numbers()) {
      v1::SetNumbersResponse::Change* const change = response->add_changes();
      change->set_key(number.key());
      change->set_from(request->dry_run() ? "unset" : "old");
      change->set_to(number.value());
    }
    return Find(request->id(), &info);
  }
  grpc::Status Events(grpc::ServerContext*, const v1::EventsRequest* request, v1::EventsResponse* response) override {
    v1::ExperimentInfo info;
    MutexLock lock(&mutex_);
    for (const v1::ExperimentEvent& event : events) {
      if (event.number() > request->after() && response->events_size() < 2) {
        *response->add_events() = event;
      }
    }
    return Find(request->id(), &info);
  }
  grpc::Status Pool(grpc::ServerContext*, const v1::PoolRequest*, v1::PoolResponse* response) override {
    *response = pool;
    return grpc::Status::OK;
  }

 private:
  grpc::Status Find(const std::string& id, v1::ExperimentInfo* info) {
    for (const v1::ExperimentInfo& one : experiments) {
      if (one.id() == id) {
        *info = one;
        return grpc::Status::OK;
      }
    }
    return {grpc::StatusCode::NOT_FOUND, "there is no experiment " + id};
  }
  grpc::Status Change(const std::string& what, const std::string& id, v1::RunState state, v1::ExperimentInfo* info) {
    MutexLock lock(&mutex_);
    changes.push_back(what + " " + id);
    const grpc::Status status = Find(id, info);
    info->set_state(state);
    return status;
  }

  Mutex mutex_;
};

}  // namespace waggle::testing
