#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/environment_transform.h"
#include "actor/environments/transforms/legal_choices.h"

namespace waggle {

// A transform that steps the environment several times for one row that it shows. A row's rewards are the sums of the
// inner rewards since the previous row, and its discount is the product of the inner discounts. If Recv wants all lanes
// under way, rows come in the order of their numbers, else as lanes become ready.
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
    kShow,         // Shows the row.
    kShowAsFirst,  // Shows the row as an episode's first, without the rewards before it.
    kStep,         // The environment takes the lane's action again.
    kStart,        // The lane's episode begins anew.
  };
  // Decides about a row of the environment. The transform saves the data that it needs of the row.
  virtual Next Take(const ReadyLanes& ready, size_t row) = 0;
  // Changes observations of a row that is about to be shown, row `row` of `observations`.
  virtual void Finish(int64_t /*lane*/, absl::Span<void* const> /*observations*/, size_t /*row*/) {}

  // True if the lane's masks allow its action, so that kStep may repeat it.
  bool MayStep(int64_t lane) const { return legal_.Allow(lane, actions_.pointers(), static_cast<size_t>(lane)); }
  // Sets the lane's action to choice 0, or no, in every element.
  void SetNoOp(int64_t lane);

 private:
  // The rows that Recv gives. Two frames alternate, as in ReadyRows.
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
  std::vector<float> products_;  // By lane: the product of discounts since then.

  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  int64_t rows_ = 0;                 // Gathered in the other frame.
  std::vector<size_t> row_of_lane_;  // If whole_: the place of a lane's row.
  bool whole_ = false;
  LeafArrays rewards_;  // By row, as all below.
  std::vector<const float*> reward_pointers_;
  std::vector<double> raw_rewards_;
  std::vector<float> discounts_;
};

}  // namespace waggle
