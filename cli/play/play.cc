#include "cli/play/play.h"

#include <algorithm>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "actor/acting/random_actions.h"
#include "actor/environments/environment.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/open_environment.h"
#include "actor/writing/scalar_reward.h"
#include "cli/play/named_environment.h"
#include "cli/play/terminal_picture.h"
#include "cli/play/typed_action.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/elements.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLane = 0;
// The most elements of a leaf that are shown: people do not read more.
constexpr int64_t kMostElements = 32;
// The lines of a terminal below the picture.
constexpr int64_t kLinesOfText = 6;

absl::StatusOr<EnvironmentOptions> EnvironmentOf(const PlayFlags& flags) {
  EnvironmentOptions options;
  if (absl::EndsWith(flags.environment, ".yaml") || absl::EndsWith(flags.environment, ".yml")) {
    WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                            LoadExperiment(flags.environment, flags.overrides, BuiltinAlgorithmDefinitions()));
    options = experiment.environment;
  } else {
    WAGGLE_ASSIGN_OR_RETURN(options, NamedEnvironment(flags.environment, flags.overrides));
  }
  options.threads = options.processes = 1;  // One lane needs no more.
  return options;
}

std::string Dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One lane and its player.
class Game {
 public:
  Game(const PlayFlags& flags, const TerminalSize& terminal, std::unique_ptr<VectorEnvironment> environment, Rng rng,
       std::istream* in, std::ostream* out, std::ostream* errors)
      : flags_(flags),
        terminal_(terminal),
        environment_(std::move(environment)),
        spec_(environment_->spec()),
        random_(spec_, 1, std::move(rng)),
        typed_(ArraysOf(spec_.actions), 1),
        in_(in),
        out_(out),
        errors_(errors) {}

  absl::Status Run() {
    if (!flags_.random && !flags_.json) {
      *out_ << spec_.name << ": each line is an action; " << WantedAction(spec_) << std::endl;
    }
    WAGGLE_RETURN_IF_ERROR(environment_->Start({kLane}));
    while (true) {
      WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, environment_->Recv(1, StopToken()));
      Take(ready);
      if (!flags_.random) {
        WAGGLE_RETURN_IF_ERROR(ShowRow(ready));
      }
      const bool is_last = ready.step_types[0] == static_cast<int32_t>(StepType::kLast);
      if (is_last) {
        ShowEpisode(ready.discounts[0] == 0);
        if (++episode_ == flags_.episodes) {
          return absl::OkStatus();
        }
      }
      // The action after an episode's end begins the next episode and is ignored.
      if (!flags_.random && !is_last) {
        if (!TypeAction(ready)) {
          return absl::OkStatus();
        }
        const std::vector<const void*> actions(typed_.pointers().begin(), typed_.pointers().end());
        WAGGLE_RETURN_IF_ERROR(environment_->Send({kLane}, actions));
      } else {
        WAGGLE_RETURN_IF_ERROR(environment_->Send({kLane}, random_.Draw(ready)));
      }
    }
  }

 private:
  void Take(const ReadyLanes& ready) {
    if (ready.first[0] != 0) {
      return_ = 0;
      steps_ = 0;
    } else {
      reward_ = ScalarReward(spec_.rewards, ready.rewards, 0);
      return_ += reward_;
      ++steps_;
    }
  }

  // Reads lines until one is an action. False at the end of the input.
  bool TypeAction(const ReadyLanes& ready) {
    std::string line;
    while (std::getline(*in_, line)) {
      const absl::Status read = ReadTypedAction(spec_, line, ready.observations, typed_);
      if (read.ok()) {
        return true;
      }
      *errors_ << "waggle play: " << read.message() << std::endl;
    }
    return false;
  }

  absl::Status ShowRow(const ReadyLanes& ready) {
    if (flags_.json) {
      Json observations = Json::object();
      for (size_t i = 0; i < spec_.observations.size(); ++i) {
        const ArraySpec& array = spec_.observations[i].array;
        Json elements = Json::array();
        for (int64_t element = 0; element < array.NumElements(); ++element) {
          elements.push_back(ElementAsDouble(array.dtype, ready.observations[i], element));
        }
        observations[array.name] = std::move(elements);
      }
      Json row = {{"episode", episode_}, {"step", steps_}, {"observations", std::move(observations)}};
      row["reward"] = steps_ > 0 ? Json(reward_) : Json();
      *out_ << Dumped(row) << std::endl;
      return absl::OkStatus();
    }
    if (terminal_.columns > 0) {
      const absl::StatusOr<Picture> picture = environment_->Draw(kLane);
      if (!absl::IsUnimplemented(picture.status())) {
        WAGGLE_RETURN_IF_ERROR(picture.status());
        *out_ << TerminalPicture(*picture, terminal_.columns, std::max<int64_t>(1, terminal_.lines - kLinesOfText));
      }
    }
    for (size_t i = 0; i < spec_.observations.size(); ++i) {
      const ArraySpec& array = spec_.observations[i].array;
      *out_ << array.name << ":";
      for (int64_t element = 0; element < std::min(array.NumElements(), kMostElements); ++element) {
        *out_ << " " << ElementText(array.dtype, ready.observations[i], element);
      }
      *out_ << (array.NumElements() > kMostElements ? " …\n" : "\n");
    }
    if (steps_ > 0) {
      *out_ << "step " << steps_ << ": reward " << reward_ << "\n";
    }
    out_->flush();
    return absl::OkStatus();
  }

  void ShowEpisode(bool terminated) {
    const char* const end = terminated ? "terminated" : "truncated";
    if (flags_.json) {
      *out_ << Dumped({{"episode", episode_}, {"return", return_}, {"length", steps_}, {"end", end}}) << std::endl;
    } else {
      *out_ << "episode " << episode_ << ": return " << return_ << " in " << steps_ << " steps, " << end << std::endl;
    }
  }

  const PlayFlags& flags_;
  const TerminalSize terminal_;
  const std::unique_ptr<VectorEnvironment> environment_;
  const EnvironmentSpec& spec_;
  RandomActions random_;
  const LeafArrays typed_;
  std::istream* const in_;
  std::ostream* const out_;
  std::ostream* const errors_;
  int64_t episode_ = 0;
  int64_t steps_ = 0;  // In this episode.
  double reward_ = 0;  // For the newest step.
  double return_ = 0;
};

}  // namespace

absl::Status Play(const PlayFlags& flags, const TerminalSize& terminal, std::istream* in, std::ostream* out,
                  std::ostream* errors) {
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentOptions options, EnvironmentOf(flags));
  Rng rng =
      Rng::Split(static_cast<uint64_t>(flags.seed.value_or(static_cast<int64_t>(std::random_device()()))), "play", 0);
  LaneOptions lanes;
  lanes.raw_rewards = true;
  if (!flags.video.empty()) {
    lanes.video = VideoOptions{flags.video, flags.video_episodes};
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<VectorEnvironment> environment,
                          OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(rng.Next()), StopToken()));
  return Game(flags, terminal, std::move(environment), std::move(rng), in, out, errors).Run();
}

}  // namespace waggle
