#include "learner/group/share_state.h"

#include "tests/learner/fakes.h"
#include "tests/learner/group/members.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ActTogether;
using testing::CountingTrainee;

TEST_CASE("the root's whole state replaces the others'", "[grpc]") {
  std::vector<CountingTrainee> trainees(3);
  trainees[1].value = torch::tensor({5.0F, 6.0F});
  trainees[1].updates = 41;
  trainees[1].rate = 0.3;
  trainees[1].note = "a longer note than that of the others";
  trainees[1].generator = Rng(99);
  const auto results = ActTogether(3, [&](int rank, Collective* collective) {
    return ShareState(rank, /*root=*/1, "counting", collective, &trainees[static_cast<size_t>(rank)]);
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE_OK(results[rank]);
    CHECK(torch::equal(trainees[rank].value, torch::tensor({5.0F, 6.0F})));
    CHECK(trainees[rank].updates == 41);
    CHECK(trainees[rank].rate == 0.3);
    CHECK(trainees[rank].note == "a longer note than that of the others");
    CHECK(trainees[rank].generator.Save() == Rng(99).Save());
  }
}

TEST_CASE("a member with a state of another shape keeps its own, and returns an error", "[grpc]") {
  std::vector<CountingTrainee> trainees(2);
  trainees[1].value = torch::ones({3});
  const auto results = ActTogether(2, [&](int rank, Collective* collective) {
    return ShareState(rank, /*root=*/0, "counting", collective, &trainees[static_cast<size_t>(rank)]);
  });
  CHECK(results[1].code() == absl::StatusCode::kFailedPrecondition);
  CHECK(torch::equal(trainees[1].value, torch::ones({3})));
}

}  // namespace
}  // namespace waggle
