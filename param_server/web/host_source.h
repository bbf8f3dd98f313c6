#pragma once

#include <string>
#include <vector>

#include "param_server/experiments/experiment_host.h"
#include "param_server/web/web_source.h"

namespace waggle {

// The experiments and the pool of a host, which outlives it.
class HostSource final : public WebSource {
 public:
  explicit HostSource(ExperimentHost* host) : host_(host) {}

  std::vector<v1::PoolMember> Members() override { return host_->Members(); }
  v1::ListExperimentsResponse List(const ExperimentQuery& query) override { return host_->List(query); }
  absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id) override { return host_->Get(id); }
  absl::StatusOr<v1::OverviewResponse> Overview(const std::string& id) override;
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id) override;
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after) override {
    return host_->Events(id, after);
  }
  absl::Status Stop(const std::string& id) override { return host_->Stop(id); }
  absl::Status Resume(const std::string& id) override { return host_->Resume(id); }
  absl::Status SetPriority(const std::string& id, int64_t priority) override {
    return host_->SetPriority(id, priority);
  }

 private:
  ExperimentHost* const host_;
};

}  // namespace waggle
