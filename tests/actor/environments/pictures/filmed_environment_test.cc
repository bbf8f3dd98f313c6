#include "actor/environments/pictures/filmed_environment.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/actor/environments/pictures/decoded_animation.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::Decoded;
using testing::TemporaryFolder;
using testing::ValueOf;

EnvironmentDefinition Catch4(const VideoOptions& options) {
  return Filmed(*ValueOf(BuiltinEnvironments().Find("Catch-v0")), options);
}

EnvironmentOptions FourRows() {
  EnvironmentOptions options;
  options.name = "Catch-v0";
  options.options = R"({"rows": 4})";
  return options;
}

struct Player {
  explicit Player(const EnvironmentDefinition& definition)
      : environment(ValueOf(definition.create(FourRows(), 3))),
        observation(static_cast<size_t>(environment->spec().observations[0].array.NumBytes())) {}

  absl::Status Reset() { return environment->Reset({observation.data()}); }
  absl::StatusOr<StepOutcome> Step() {
    const int64_t action = 1;
    return environment->Step({&action}, {observation.data()}, &reward);
  }

  std::unique_ptr<Environment> environment;
  std::vector<uint8_t> observation;
  float reward = 0;
};

TEST_CASE("The first episodes of all copies become files, with a picture for each row", "[unit]") {
  const TemporaryFolder folder;
  const EnvironmentDefinition definition = Catch4({folder.path(), 2});
  Player one(definition);
  Player other(definition);
  for (int episode = 0; episode < 2; ++episode) {
    for (Player* const player : {&one, &other}) {
      REQUIRE_OK(player->Reset());
      const Picture first = ValueOf(player->environment->Draw());
      while (!ValueOf(player->Step()).terminated) {
      }
      const std::string path = folder.File(player == &one ? "episode-0.webp" : "episode-1.webp");
      const testing::DecodedAnimation film = Decoded(Contents(path));
      REQUIRE(film.frames.size() == 4);
      if (episode == 0) {
        CHECK(film.frames.front() == first.rgb());
        CHECK(film.frames.back() == ValueOf(player->environment->Draw()).rgb());
      }
    }
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("A filmed environment has the rows and errors of the inner one", "[unit]") {
  const TemporaryFolder folder;
  Player plain(*ValueOf(BuiltinEnvironments().Find("Catch-v0")));
  Player filmed(Catch4({folder.path(), 1}));
  CHECK(filmed.environment->spec() == plain.environment->spec());
  REQUIRE_CODE(filmed.Step(), absl::StatusCode::kFailedPrecondition);
  for (Player* const player : {&plain, &filmed}) {
    REQUIRE_OK(player->Reset());
    REQUIRE_OK(player->Step().status());
  }
  CHECK(filmed.observation == plain.observation);
}

TEST_CASE("An abandoned episode is written up to its last step", "[unit]") {
  const TemporaryFolder folder;
  Player player(Catch4({folder.path(), 1}));
  REQUIRE_OK(player.Reset());
  REQUIRE_OK(player.Step().status());
  REQUIRE_OK(player.Reset());
  CHECK(Decoded(Contents(folder.File("episode-0.webp"))).frames.size() == 2);
}

TEST_CASE("A file that cannot be written ends the episode's last step with an error", "[unit]") {
  const TemporaryFolder folder;
  Player player(Catch4({folder.File("gone"), 1}));
  REQUIRE_OK(player.Reset());
  REQUIRE_OK(player.Step().status());
  REQUIRE_OK(player.Step().status());
  const absl::Status failed = player.Step().status();
  CHECK_FALSE(failed.ok());
  CHECK_THAT(std::string(failed.message()), Catch::Contains(folder.File("gone")));
}

TEST_CASE("A folder for pictures is made, and a path that cannot be a folder is refused", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(PrepareVideoFolder(folder.File("a/b")));
  CHECK(std::filesystem::is_directory(folder.File("a/b")));
  REQUIRE_OK(PrepareVideoFolder(folder.File("a/b")));
  std::ofstream(folder.File("file")) << "x";
  for (const std::string& path : {folder.File("file"), folder.File("file/below"), std::string("/proc/pictures")}) {
    const absl::Status refused = PrepareVideoFolder(path);
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::Contains("--video: got " + path));
  }
}

}  // namespace
}  // namespace waggle
