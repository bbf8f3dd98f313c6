#include "actor/self_play/self_play_environment.h"

#include <cstring>
#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "common/config/experiment/self_play.h"
#include "common/config/spec/agent_view.h"
#include "common/config/spec/leaf_name.h"

namespace waggle {
namespace {

// Copies row `from_row` of an array of the spec to row `row` of another.
void CopyElements(const ArraySpec& spec, const void* from, size_t from_row, size_t row, void* to) {
  const auto bytes = static_cast<size_t>(spec.NumBytes());
  std::memcpy(static_cast<char*>(to) + row * bytes, static_cast<const char*>(from) + from_row * bytes, bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SelfPlayEnvironment>> SelfPlayEnvironment::Create(
    std::unique_ptr<VectorEnvironment> inner, std::unique_ptr<League> league, Rng rng) {
  WAGGLE_ASSIGN_OR_RETURN(EnvironmentSpec spec, SelfPlaySpec(inner->spec()));
  return std::unique_ptr<SelfPlayEnvironment>(
      new SelfPlayEnvironment(std::move(inner), std::move(spec), std::move(league), std::move(rng)));
}

SelfPlayEnvironment::SelfPlayEnvironment(std::unique_ptr<VectorEnvironment> inner, EnvironmentSpec spec,
                                         std::unique_ptr<League> league, Rng rng)
    : inner_(std::move(inner)),
      spec_(std::move(spec)),
      league_(std::move(league)),
      rng_(std::move(rng)),
      matches_(static_cast<size_t>(inner_->lanes())),
      rows_(spec_, inner_->lanes()),
      observations_(ArraysOf(spec_.observations), inner_->lanes()),
      decisions_(league_->policy(0), spec_.actions, inner_->lanes()),
      opponents_actions_(ArraysOf(spec_.actions), inner_->lanes()),
      joint_actions_(ArraysOf(inner_->spec().actions), inner_->lanes()) {
  const EnvironmentSpec& both = inner_->spec();
  const std::vector<std::string> names = AgentsOf(both);
  for (size_t i = 0; i < agents_.size(); ++i) {
    agents_[i].observations = ViewOf(both, names[i]).leaves;
    const auto is_own = [&](const std::string& leaf) { return SplitLeafName(leaf)->agent == names[i]; };
    for (size_t leaf = 0; leaf < both.actions.size(); ++leaf) {
      if (is_own(both.actions[leaf].array.name)) {
        agents_[i].actions.push_back(leaf);
      }
    }
    for (size_t leaf = 0; leaf < both.rewards.size(); ++leaf) {
      if (is_own(both.rewards[leaf].name)) {
        agents_[i].rewards.push_back(leaf);
      }
    }
  }
}

absl::StatusOr<ReadyLanes> SelfPlayEnvironment::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, inner_->Recv(at_least, stop));
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    if (ready.first[row] != 0) {
      Match& match = matches_[static_cast<size_t>(ready.lanes[row])];
      match.learner = static_cast<size_t>(rng_.UniformInt(2));
      match.opponent = league_->Draw(&rng_);
    }
  }
  WAGGLE_RETURN_IF_ERROR(ActByOpponents(ready));
  rows_.Clear();
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    AddRow(ready, row);
  }
  return rows_.Show();
}

void SelfPlayEnvironment::AddRow(const ReadyLanes& ready, size_t row) {
  const Agent& learner = agents_[matches_[static_cast<size_t>(ready.lanes[row])].learner];
  const auto to = static_cast<size_t>(rows_.rows());
  for (size_t leaf = 0; leaf < learner.observations.size(); ++leaf) {
    CopyElements(spec_.observations[leaf].array, ready.observations[learner.observations[leaf]], row, to,
                 rows_.observations()[leaf]);
  }
  for (size_t leaf = 0; leaf < learner.rewards.size(); ++leaf) {
    CopyElements(spec_.rewards[leaf], ready.rewards[learner.rewards[leaf]], row, to, rows_.rewards()[leaf]);
  }
  rows_.Add(ready.lanes[row], static_cast<StepType>(ready.step_types[row]), ready.discounts[row]);
}

absl::Status SelfPlayEnvironment::ActByOpponents(const ReadyLanes& ready) {
  for (size_t opponent = 0; opponent < league_->size(); ++opponent) {
    batch_.clear();
    first_.clear();
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      const Match& match = matches_[static_cast<size_t>(ready.lanes[row])];
      if (match.opponent != opponent || ready.step_types[row] == static_cast<int32_t>(StepType::kLast)) {
        continue;
      }
      const Agent& other = agents_[1 - match.learner];
      for (size_t leaf = 0; leaf < other.observations.size(); ++leaf) {
        CopyElements(spec_.observations[leaf].array, ready.observations[other.observations[leaf]], row, batch_.size(),
                     observations_.pointers()[leaf]);
      }
      batch_.push_back(ready.lanes[row]);
      first_.push_back(ready.first[row]);
    }
    if (batch_.empty()) {
      continue;
    }
    PolicyInput input;
    input.slots = batch_;
    input.observations = observations_.pointers();
    input.first = first_.data();
    WAGGLE_RETURN_IF_ERROR(league_->policy(opponent).Act(input, ActMode::kExplore, decisions_.output()));
    for (size_t i = 0; i < batch_.size(); ++i) {
      opponents_actions_.CopyRow(decisions_.output()->actions, i, static_cast<size_t>(batch_[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status SelfPlayEnvironment::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t row = 0; row < lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(lanes[row]);
    const size_t learner = matches_[lane].learner;
    for (size_t leaf = 0; leaf < spec_.actions.size(); ++leaf) {
      const ArraySpec& array = spec_.actions[leaf].array;
      CopyElements(array, actions[leaf], row, row, joint_actions_.pointers()[agents_[learner].actions[leaf]]);
      CopyElements(array, opponents_actions_.pointers()[leaf], lane, row,
                   joint_actions_.pointers()[agents_[1 - learner].actions[leaf]]);
    }
  }
  return inner_->Send(lanes, joint_actions_.pointers());
}

}  // namespace waggle
