#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace waggle {

// How saved weights are to be evaluated: what `waggle evaluate` is told, and hands to waggle-actor.
struct EvaluationFlags {
  std::string path;  // Where the weights are, or something that holds them.
  int64_t episodes = 100;
  std::optional<int64_t> seed;  // Nothing: another one each time.
  std::string device;           // Empty: that on which the experiment's actors act.
  bool newest = false;          // The newest weights rather than the best.
  bool json = false;
  std::string video;  // The folder that pictures of episodes are written to. Empty: none are.
  int64_t video_episodes = 1;
  std::string record;    // The replay file that the episodes become; empty: none.
  bool explore = false;  // Act as actors do.
};

// Adds --video and --video-episodes. An empty `video`: nothing is filmed.
std::vector<CLI::Option*> AddVideoFlags(CLI::App* app, std::string* video, int64_t* episodes);

// Adds all but the path, `record` and `explore`. `flags` outlives the parsing.
std::vector<CLI::Option*> AddEvaluationFlags(CLI::App* app, EvaluationFlags* flags);

// Adds those two: `name` ("--output") and --explore.
std::vector<CLI::Option*> AddRecordFlags(CLI::App* app, const std::string& name, EvaluationFlags* flags);

// The flags of waggle-actor, "--evaluate=PATH" among them, that say the same.
std::vector<std::string> ActorArguments(const EvaluationFlags& flags);

}  // namespace waggle
