#include "cli/play/play.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;

struct Played {
  absl::Status status;
  std::string out;
  std::string errors;

  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    for (const auto line : absl::StrSplit(out, '\n', absl::SkipEmpty())) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
};

Played PlayWith(const PlayFlags& flags, const std::string& typed = "", const TerminalSize& terminal = {}) {
  std::istringstream in(typed);
  std::ostringstream out;
  std::ostringstream errors;
  Played played;
  played.status = Play(flags, terminal, &in, &out, &errors);
  played.out = out.str();
  played.errors = errors.str();
  return played;
}

PlayFlags Of(const std::string& environment) {
  PlayFlags flags;
  flags.environment = environment;
  flags.seed = 3;
  return flags;
}

TEST_CASE("Random actions play whole episodes, and equal seeds play equal ones", "[unit]") {
  PlayFlags flags = Of("CartPole-v1");
  flags.random = true;
  flags.json = true;
  flags.episodes = 3;
  const Played one = PlayWith(flags);
  REQUIRE_OK(one.status);
  const std::vector<nlohmann::json> episodes = one.Lines();
  REQUIRE(episodes.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(episodes[i].at("episode") == i);
    CHECK(episodes[i].at("return") == episodes[i].at("length"));
    CHECK(episodes[i].at("end") == "terminated");
  }
  CHECK(PlayWith(flags).out == one.out);
  flags.seed = 4;
  CHECK(PlayWith(flags).out != one.out);
}

TEST_CASE("An episode is played by typed actions, and each row is shown", "[unit]") {
  PlayFlags flags = Of("MemoryCue-v0");
  flags.overrides = {{"environment.options.length", "2"}};
  flags.json = true;
  const std::vector<nlohmann::json> rows = PlayWith(flags, "0\n1\n").Lines();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].at("step") == 0);
  CHECK(rows[0].at("reward").is_null());
  CHECK(rows[0].at("observations").at("observation").size() == 3);
  const bool was_right = rows[0].at("observations").at("observation").at(2) == 1;
  CHECK(rows[1].at("observations").at("observation") == nlohmann::json({0.5, 0, 0}));
  CHECK(rows[2].at("reward") == (was_right ? 1 : -1));
  CHECK(rows[3] ==
        nlohmann::json({{"episode", 0}, {"return", was_right ? 1.0 : -1.0}, {"length", 2}, {"end", "terminated"}}));
}

TEST_CASE("A line that is not an action is reported, and the next line is read", "[unit]") {
  const Played played = PlayWith(Of("Pendulum-v1"), "left\n3\n\n1.5\n");
  REQUIRE_OK(played.status);  // The input ends before the episode.
  CHECK_THAT(played.out, Catch::Contains("step 1: reward -") && !Catch::Contains("step 2"));
  CHECK_THAT(played.errors, Catch::Contains("got left; wanted") && Catch::Contains("got 3; wanted") &&
                                Catch::Contains("got 0 numbers; wanted 1"));
}

TEST_CASE("A terminal shows pictures of environments that have any, and cuts long leaves short", "[unit]") {
  const std::string catching = PlayWith(Of("Catch-v0"), "1\n", {80, 40}).out;
  CHECK_THAT(catching, Catch::Contains("\u2580") && Catch::Contains(" …\n"));
  CHECK_THAT(PlayWith(Of("Catch-v0"), "1\n").out, !Catch::Contains("\u2580"));
  PlayFlags nothing = Of("Null-v1");
  nothing.overrides = {{"environment.spec.max_episode_steps", "1"}};
  const Played played = PlayWith(nothing, "1\n", {80, 40});
  REQUIRE_OK(played.status);
  CHECK_THAT(played.out, !Catch::Contains("\u2580") && Catch::Contains("in 1 steps, truncated"));
}

TEST_CASE("An experiment's file names the environment, and its episodes can be filmed", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x.yaml")) << "environment: {name: Catch-v0, options: {rows: 4}, threads: 2}\n"
                                          "algorithm: {name: ppo}\nstop: {max_seconds: 1}\n";
  PlayFlags flags = Of(folder.File("x.yaml"));
  flags.random = true;
  flags.episodes = 3;
  flags.video = folder.File("films");
  flags.video_episodes = 2;
  const Played played = PlayWith(flags);
  REQUIRE_OK(played.status);
  CHECK_THAT(played.out, Catch::Contains("episode 2: return ") && Catch::Contains("in 3 steps, terminated"));
  CHECK(std::filesystem::exists(folder.File("films/episode-1.webp")));
  CHECK_FALSE(std::filesystem::exists(folder.File("films/episode-2.webp")));
}

TEST_CASE("Environments that cannot be played or filmed are refused", "[unit]") {
  REQUIRE_CODE(PlayWith(Of("CartPole-v9")).status, absl::StatusCode::kNotFound);
  REQUIRE_CODE(PlayWith(Of("no/such/file.yaml")).status, absl::StatusCode::kNotFound);
  PlayFlags flags = Of("CartPole-v1");
  flags.overrides = {{"environment.options.gravity", "-1"}};
  REQUIRE_CODE(PlayWith(flags).status, absl::StatusCode::kInvalidArgument);
  PlayFlags film = Of("Null-v1");
  const TemporaryFolder folder;
  film.video = folder.path();
  REQUIRE_CODE(PlayWith(film).status, absl::StatusCode::kUnimplemented);
  film = Of("CartPole-v1");
  film.video = "/proc/films";
  REQUIRE_CODE(PlayWith(film).status, absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
