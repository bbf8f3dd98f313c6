#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/rl/kit/stepper.h"
#include "learner/group/group_member.h"

namespace waggle {

// Pushes each gradient to the first learner of the group, and takes the values that it has then. Steps locally if there
// is no other learner. What learners must agree on otherwise stays each one's own.
class PushStepper : public Stepper {
 public:
  // Both must outlive the stepper.
  PushStepper(GroupMember* member, Stepper* local) : member_(member), local_(local) {}

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override {
    if (member_->pushed() == nullptr) {
      return local_->Step(group, progress);
    }
    WAGGLE_RETURN_IF_ERROR(member_->pushed()->Step(group));
    return true;
  }

  absl::StatusOr<bool> Assign(ParameterGroup* group, const torch::Tensor& values) override {
    if (member_->pushed() == nullptr) {
      return local_->Assign(group, values);
    }
    return absl::UnimplementedError("AlgorithmPlan::assigns: got false of an algorithm that assigns; wanted true");
  }

  torch::Tensor GradientNorm(const ParameterGroup& group) const override {
    return member_->pushed() == nullptr ? local_->GradientNorm(group) : member_->pushed()->GradientNorm(group.name());
  }

 private:
  GroupMember* const member_;
  Stepper* const local_;
};

}  // namespace waggle
