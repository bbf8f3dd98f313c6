#include "learner/group/pushed_steps.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

// The first three numbers of a push are the parameter group and the steps that the values had; those of an answer are
// the verdict, the steps and the first learner's steps. The floating-point numbers follow in a message of their own.
using Header = std::array<int64_t, 3>;

torch::Tensor TensorOf(Header* header) {
  return torch::from_blob(header->data(), {static_cast<int64_t>(header->size())}, torch::kInt64);
}

}  // namespace

PushedSteps::PushedSteps(const GradientServerOptions& options, int rank, int size, Collective* collective,
                         const std::vector<ParameterGroup*>& groups, Metrics* metrics, const StopToken& abandoned)
    : collective_(collective), metrics_(metrics) {
  metrics_->Add("gradients_pushed", 0);  // The counter shows that gradients are pushed here.
  for (size_t i = 0; i < groups.size(); ++i) {
    places_[groups[i]->name()].index = static_cast<int64_t>(i);
  }
  if (rank == 0) {
    shared_ = std::make_unique<SharedSteps>(options, size, groups);
    on_abandoned_ = std::make_unique<StopToken::Callback>(abandoned, [this] { shared_->Abandon(); });
    for (int peer = 1; peer < size; ++peer) {
      servers_.emplace_back("steps", [this, peer, abandoned] {
        const absl::Status ended = Serve(peer);
        if (absl::IsAborted(ended)) {
          LogInfo("no more gradients of learner ", peer, " of the group: ", ended.message());
        } else {
          LogError("the group ends, as gradients of its learner ", peer, " cannot be taken: ", ended.ToString());
          abandoned.RequestStop();
        }
      });
    }
  }
}

void PushedSteps::SetProgress(const Progress& progress) {
  if (shared_ != nullptr) {
    shared_->SetProgress(progress);
  }
}

absl::Status PushedSteps::Step(ParameterGroup* group) {
  bool finite = false;
  WAGGLE_RETURN_IF_ERROR(
      CatchTorch("checking a gradient", [&] { finite = group->gradients().isfinite().all().item<bool>(); }));
  if (!finite) {
    return absl::InvalidArgumentError(
        absl::StrCat("gradient of ", group->name(), ": got a number that is not finite; wanted finite ones"));
  }
  const auto found = places_.find(group->name());
  WAGGLE_CHECK(found != places_.end(), "an algorithm steps parameters that are not its model's");
  Place& place = found->second;
  metrics_->Add("gradients_pushed", 1);
  WAGGLE_ASSIGN_OR_RETURN(const PushOutcome outcome,
                          shared_ != nullptr
                              ? shared_->Push(place.index, place.steps, group->gradients(), group->values())
                              : Ask(place, group));
  CountVerdict(outcome.verdict, metrics_);
  place.steps = outcome.steps;
  place.gradient_norm = outcome.gradient_norm;
  learner_steps_ = outcome.learner_steps;
  return absl::OkStatus();
}

absl::StatusOr<PushOutcome> PushedSteps::Ask(const Place& place, ParameterGroup* group) {
  const torch::NoGradGuard no_grad;
  Header header = {place.index, place.steps, 0};
  torch::Tensor numbers = group->gradients().cpu().contiguous();
  WAGGLE_RETURN_IF_ERROR(collective_->Send(TensorOf(&header), 0));
  WAGGLE_RETURN_IF_ERROR(collective_->Send(numbers, 0));
  WAGGLE_RETURN_IF_ERROR(collective_->Receive(TensorOf(&header), 0));
  torch::Tensor values = group->values();
  const torch::Tensor newest = torch::empty_like(values, torch::kCPU);
  WAGGLE_RETURN_IF_ERROR(collective_->Receive(newest, 0));
  WAGGLE_RETURN_IF_ERROR(CatchTorch("copying parameters", [&] { values.copy_(newest); }));
  return PushOutcome{static_cast<GradientVerdict>(header[0]), header[1], header[2], {}};
}

absl::Status PushedSteps::Serve(int rank) {
  const torch::NoGradGuard no_grad;
  std::map<int64_t, torch::Tensor> buffers;  // By parameter group: a gradient, then the newest values.
  while (true) {
    Header header = {};
    WAGGLE_RETURN_IF_ERROR(collective_->Receive(TensorOf(&header), rank));
    if (header[0] < 0 || header[0] >= shared_->groups()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter group of a gradient: got ", header[0], "; wanted 0 to ", shared_->groups() - 1));
    }
    torch::Tensor& buffer = buffers[header[0]];
    if (!buffer.defined()) {
      buffer = shared_->NewBuffer(header[0]);
    }
    WAGGLE_RETURN_IF_ERROR(collective_->Receive(buffer, rank));
    WAGGLE_ASSIGN_OR_RETURN(const PushOutcome outcome, shared_->Push(header[0], header[1], buffer, buffer));
    header = {static_cast<int64_t>(outcome.verdict), outcome.steps, outcome.learner_steps};
    WAGGLE_RETURN_IF_ERROR(collective_->Send(TensorOf(&header), rank));
    WAGGLE_RETURN_IF_ERROR(collective_->Send(buffer, rank));
  }
}

absl::Status PushedSteps::WithNewest(absl::FunctionRef<absl::Status()> use) {
  if (shared_ == nullptr) {
    return use();
  }
  return shared_->WithNewest([&](const std::vector<int64_t>& steps) {
    for (auto& [name, place] : places_) {
      place.steps = steps[static_cast<size_t>(place.index)];
    }
    return use();
  });
}

void PushedSteps::End() {
  if (shared_ != nullptr) {
    shared_->End();
  }
}

}  // namespace waggle
