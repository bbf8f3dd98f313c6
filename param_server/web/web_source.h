#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/experiment_view.h"
#include "waggle/v1/experiment.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// The hub as its web page sees it: snapshots, and a few changes. Thread-safe. NOT_FOUND for an unknown id.
class WebSource {
 public:
  virtual ~WebSource() = default;

  // These return at once.
  virtual std::vector<v1::PoolMember> Members() = 0;
  virtual v1::ListExperimentsResponse List(const ExperimentQuery& query) = 0;
  virtual absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id) = 0;

  // These may wait for the disk.
  // The present overview of a running experiment, the last one of another.
  virtual absl::StatusOr<v1::OverviewResponse> Overview(const std::string& id) = 0;
  virtual absl::StatusOr<ExperimentTexts> Texts(const std::string& id) = 0;
  virtual absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after) = 0;
  virtual absl::Status Stop(const std::string& id) = 0;
  virtual absl::Status SetPriority(const std::string& id, int64_t priority) = 0;
  // May take as long as an experiment needs to close.
  virtual absl::Status Resume(const std::string& id) = 0;
};

}  // namespace waggle
