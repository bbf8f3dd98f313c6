#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/leaf_arrays.h"
#include "actor/transforms/environment_transform.h"
#include "actor/transforms/legal_choices.h"

namespace waggle {

// A transform that steps the environment several times for one row that it shows. A row's rewards are the sums of those
// since the row before it, and its discount is the product of theirs. If all lanes that are under way are asked for,
// rows come in the order of their numbers, else as lanes are ready.
class InnerSteps : public EnvironmentTransform {
 public:
  static constexpr bool kStartsLanes = true;

  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 protected:
  explicit InnerSteps(TransformParts parts);

  enum class Next {
    kShow,         // The row.
    kShowAsFirst,  // The row, as an episode's first, without what was rewarded before it.
    kStep,         // The environment takes the lane's action again.
    kStart,        // The lane's episode begins anew.
  };
  // Decides about a row that the environment shows. The transform keeps here what it needs of the row.
  virtual Next Take(const ReadyLanes& ready, size_t row) = 0;
  // Changes observations of a row that is about to be shown, row `row` of `observations`.
  virtual void Finish(int64_t /*lane*/, absl::Span<void* const> /*observations*/, size_t /*row*/) {}

  // Whether the lane's masks allow its action, so that kStep may take it again.
  bool MayStep(int64_t lane) const { return legal_.Allow(lane, actions_.pointers(), static_cast<size_t>(lane)); }
  // Makes the lane's action choice 0, or no, of everything.
  void SetNoOp(int64_t lane);

 private:
  // The rows that Recv gives. Two frames take turns, as in ReadyRows.
  struct Frame {
    std::vector<int64_t> lanes;
    LeafArrays observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };
  Frame NewFrame() const;

  void SetUnderWay(absl::Span<const int64_t> lanes);
  absl::Status TakeRows(const ReadyLanes& ready);
  void AddOutcome(const ReadyLanes& ready, size_t row);
  void Show(const ReadyLanes& ready, size_t row, bool as_first);

  LegalChoices legal_;
  LeafArrays actions_;  // By lane.
  LeafArrays again_;    // Actions of the lanes below, by row.
  std::vector<const void*> again_pointers_;
  std::vector<int64_t> step_again_;
  std::vector<int64_t> start_again_;

  std::vector<uint8_t> under_way_;  // By lane.
  int64_t num_under_way_ = 0;
  bool has_raw_rewards_ = false;
  LeafArrays sums_;  // By lane: rewards since its last row was shown.
  std::vector<double> raw_sums_;
  std::vector<float> products_;  // By lane: of discounts since then.

  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  int64_t rows_ = 0;                 // Gathered in the other frame.
  std::vector<size_t> row_of_lane_;  // If whole_: where a lane's row goes.
  bool whole_ = false;
  LeafArrays rewards_;  // By row, as all below.
  std::vector<const float*> reward_pointers_;
  std::vector<double> raw_rewards_;
  std::vector<float> discounts_;
};

}  // namespace waggle
