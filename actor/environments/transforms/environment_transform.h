#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/transforms/transform.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"

namespace waggle {

// A vector environment around another one. It changes nothing by itself: a transform overrides the methods that it
// changes. Its state belongs to the episodes under way, so it is not saved in checkpoints. Random draws follow from the
// seed, with a stream for each lane, in any order of lanes.
class EnvironmentTransform : public VectorEnvironment {
 public:
  // See TransformDefinition.
  static constexpr bool kChangesRewards = false;
  static constexpr bool kStartsLanes = false;

  const EnvironmentSpec& spec() const override { return spec_; }
  int64_t lanes() const override { return inner_->lanes(); }
  bool lanes_step_together() const override { return inner_->lanes_step_together(); }
  absl::Status Start(absl::Span<const int64_t> lanes) override { return inner_->Start(lanes); }
  absl::Status Reset() override { return inner_->Reset(); }
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override {
    return inner_->Send(lanes, actions);
  }
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override {
    return inner_->Recv(at_least, stop);
  }
  EnvironmentHealth health() const override { return inner_->health(); }
  ChoiceStarts choice_starts() const override { return inner_->choice_starts(); }
  absl::StatusOr<Picture> Draw(int64_t lane) const override { return inner_->Draw(lane); }

 protected:
  explicit EnvironmentTransform(TransformParts parts)
      : inner_(std::move(parts.inner)),
        spec_(std::move(parts.after.spec)),
        copies_before_(std::move(parts.before.copies)),
        seed_(parts.seed) {}

  VectorEnvironment& inner() { return *inner_; }
  const VectorEnvironment& inner() const { return *inner_; }
  TransformedSpec before() const { return {inner_->spec(), copies_before_}; }
  // A generator for each lane, of this transform's own.
  std::vector<Rng> LaneRngs() const {
    std::vector<Rng> rngs;
    for (int64_t lane = 0; lane < lanes(); ++lane) {
      rngs.push_back(Rng::Split(seed_, "lane", static_cast<uint64_t>(lane)));
    }
    return rngs;
  }

 private:
  const std::unique_ptr<VectorEnvironment> inner_;
  const EnvironmentSpec spec_;
  const std::vector<std::string> copies_before_;
  const uint64_t seed_;
};

}  // namespace waggle
