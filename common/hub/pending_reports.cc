#include "common/hub/pending_reports.h"

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

constexpr size_t kMaxEvaluations = 1'000;

}  // namespace

void PendingReports::SetEnvironment(const EnvironmentSpec& environment) {
  environment_ = environment;
  environment_acknowledged_ = false;
}

void PendingReports::AddEvaluation(const Evaluation& evaluation, absl::Time finished) {
  // Later than all before, because the hub knows the evaluations by it.
  last_finished_us_ = std::max(last_finished_us_ + 1, absl::ToUnixMicros(finished));
  v1::Evaluation proto = ToProto(evaluation);
  proto.set_finished_at_us(last_finished_us_);
  evaluations_.push_back(std::move(proto));
  if (evaluations_.size() > kMaxEvaluations) {
    LogWarning("the oldest of ", evaluations_.size(), " evaluations is dropped: the parameter server does not answer");
    evaluations_.pop_front();
  }
}

void PendingReports::SetFailure(const absl::Status& failure) {
  failure_ = std::string(Utf8Prefix(failure.ToString(), kMaxFailureBytes));
}

void PendingReports::Fill(v1::HeartbeatRequest* request) const {
  if (environment_.has_value() && !(environment_known_ && environment_acknowledged_)) {
    *request->mutable_environment() = ToProto(*environment_);
  }
  for (const v1::Evaluation& evaluation : evaluations_) {
    *request->add_evaluations() = evaluation;
  }
  if (final_version_.has_value()) {
    *request->mutable_final_version() = ToProto(*final_version_);
  }
  request->set_turn_done(turn_done_);
  request->set_broken_group(broken_group_);
  if (cut_.has_value()) {
    request->mutable_cut()->set_number(cut_->number);
    request->mutable_cut()->set_learner_steps(static_cast<uint64_t>(cut_->learner_steps));
    request->mutable_cut()->set_failure(std::string(Utf8Prefix(AsUtf8(cut_->failure), kMaxFailureBytes)));
  }
  request->set_failure(failure_);
}

void PendingReports::Acknowledge(const v1::HeartbeatRequest& request) {
  environment_acknowledged_ = environment_acknowledged_ || request.has_environment();
  if (request.evaluations().empty()) {
    return;
  }
  // By time: reports may have been added or dropped meanwhile.
  const int64_t sent_us = request.evaluations(request.evaluations_size() - 1).finished_at_us();
  while (!evaluations_.empty() && evaluations_.front().finished_at_us() <= sent_us) {
    evaluations_.pop_front();
  }
}

}  // namespace waggle
