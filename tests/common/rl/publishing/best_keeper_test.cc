#include "common/rl/publishing/best_keeper.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "common/rl/checkpoint/saved_model.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

class BestOnly : public ModelSubscriber {
 public:
  explicit BestOnly(absl::StatusOr<std::optional<ModelSnapshot>> best) : best_(std::move(best)) {}
  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion>, const StopToken&) override {
    return absl::UnimplementedError("not asked for");
  }
  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken&) override { return best_; }
  absl::Status WaitNewer(std::optional<ModelVersion>, const StopToken&) override {
    return absl::UnimplementedError("not asked for");
  }

 private:
  const absl::StatusOr<std::optional<ModelSnapshot>> best_;
};

Assignment Over() {
  Assignment over;
  over.run_state = RunState::kSolved;
  over.experiment_yaml = "the experiment";
  over.result = RunResult();
  return over;
}

TEST_CASE("The best weights are kept with all that is needed to act with them", "[unit]") {
  const testing::TemporaryFolder folder;
  ModelSnapshot snapshot;
  snapshot.model = "x";
  snapshot.version = {2, 30};
  snapshot.progress.env_steps = 46'000;
  BestOnly subscriber{std::optional<ModelSnapshot>(snapshot)};
  REQUIRE_OK(KeepBest(Over(), folder.path(), &subscriber));
  const SavedModel kept = testing::ValueOf(LoadSavedModel(folder.File("best")));
  CHECK(kept.snapshot.version == ModelVersion{2, 30});
  CHECK(kept.snapshot.model == "x");
  CHECK(kept.experiment_yaml == "the experiment");
  CHECK(kept.snapshot.progress.env_steps == 46'000);
}

TEST_CASE("Nothing is written if nothing was evaluated or the hub is away", "[unit]") {
  const testing::TemporaryFolder folder;
  BestOnly away(absl::UnavailableError("away"));
  BestOnly none{std::optional<ModelSnapshot>()};
  CHECK(absl::IsUnavailable(KeepBest(Over(), folder.path(), &away)));
  REQUIRE_OK(KeepBest(Over(), folder.path(), &none));
  Assignment without = Over();
  without.result.reset();
  REQUIRE_OK(KeepBest(without, folder.path(), &away));
  CHECK_FALSE(std::filesystem::exists(folder.File("best")));
}

}  // namespace
}  // namespace waggle
