#include "common/base/process/evaluation_flags.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/process/flags.h"

namespace waggle {
namespace {

constexpr int64_t kMostFilmed = 1000;
constexpr int64_t kMostEpisodes = 10'000'000;  // Two numbers of each are kept.

}  // namespace

std::vector<CLI::Option*> AddVideoFlags(CLI::App* app, std::string* video, int64_t* episodes) {
  CLI::Option* const folder =
      AddPathFlag(app, "--video", video, "DIR",
                  "Film episodes: write DIR/episode-0.webp and so on, or .mp4 for an environment of Gymnasium");
  CLI::Option* const number = AddIntegerFlag(app, "--video-episodes", episodes, 1, kMostFilmed,
                                             "The number of episodes to film, the first ones");
  SetNeeds(number, folder);
  return {folder, number};
}

std::vector<CLI::Option*> AddEvaluationFlags(CLI::App* app, EvaluationFlags* flags) {
  std::vector<CLI::Option*> options = {
      AddIntegerFlag(app, "--episodes", &flags->episodes, 1, kMostEpisodes, "The number of episodes"),
      AddIntegerFlag(
          app, "--seed", &flags->seed, 0, std::numeric_limits<int64_t>::max(),
          "The seed of the start states: the same seed gives the same episodes; by default another one each time"),
      app->add_option("--device", flags->device,
                      "cpu, cuda or cuda:N; by default the device of the experiment's actors")
          ->type_name("DEVICE"),
      AddSwitch(app, "--newest", &flags->newest, "Evaluate the newest weights rather than the best"),
      AddSwitch(app, "--scripted", &flags->scripted,
                "For an experiment's file: act by the built-in environment's script rather than at random"),
      AddSwitch(app, "--json", &flags->json, "Print JSON"),
  };
  const std::vector<CLI::Option*> video = AddVideoFlags(app, &flags->video, &flags->video_episodes);
  options.insert(options.end(), video.begin(), video.end());
  return options;
}

std::vector<CLI::Option*> AddRecordFlags(CLI::App* app, const std::string& name, EvaluationFlags* flags) {
  CLI::Option* const file = AddPathFlag(
      app, name, &flags->record, "FILE",
      "The replay file to write the episodes to, or minari:FOLDER for a data set of Minari; neither may exist");
  CLI::Option* const explore =
      AddSwitch(app, "--explore", &flags->explore, "Act as actors do, with exploration, rather than greedily");
  SetNeeds(explore, file);
  return {file, explore};
}

std::vector<std::string> ActorArguments(const EvaluationFlags& flags) {
  std::vector<std::string> arguments = {absl::StrCat("--evaluate=", flags.path),
                                        absl::StrCat("--episodes=", flags.episodes), "--log-level=warning"};
  if (flags.seed.has_value()) {
    arguments.push_back(absl::StrCat("--seed=", *flags.seed));
  }
  if (!flags.device.empty()) {
    arguments.push_back(absl::StrCat("--device=", flags.device));
  }
  if (flags.newest) {
    arguments.push_back("--newest");
  }
  if (flags.scripted) {
    arguments.push_back("--scripted");
  }
  if (flags.json) {
    arguments.push_back("--json");
  }
  if (!flags.record.empty()) {
    arguments.push_back(absl::StrCat("--record=", flags.record));
  }
  if (flags.explore) {
    arguments.push_back("--explore");
  }
  if (!flags.video.empty()) {
    arguments.push_back(absl::StrCat("--video=", flags.video));
    arguments.push_back(absl::StrCat("--video-episodes=", flags.video_episodes));
  }
  return arguments;
}

}  // namespace waggle
