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

// How to evaluate saved weights: the flags of `waggle evaluate` and `waggle record`, which pass them to waggle-actor.
struct EvaluationFlags {
  std::string path;          // The weights, or a folder or file that holds them; for the user also an experiment's id.
  std::string param_server;  // The hub of that experiment. Empty: none is asked.
  int64_t episodes = 100;
  std::optional<int64_t> seed;  // Absent: a random seed.
  std::string device;           // Empty: the device of the experiment's actors.
  bool newest = false;          // The newest weights rather than the best.
  bool scripted = false;        // The environment's script acts. Only for an experiment's file.
  bool json = false;
  std::string video;  // The folder for films of episodes. Empty: no films.
  int64_t video_episodes = 1;
  // The flags of `waggle record` alone.
  std::string record;    // The replay file to write the episodes to. Empty: none.
  bool explore = false;  // Act as actors do, with exploration, rather than greedily.
};

// Adds --video and --video-episodes. An empty `video`: nothing is filmed.
std::vector<CLI::Option*> AddVideoFlags(CLI::App* app, std::string* video, int64_t* episodes);

// Adds all but the path, `record` and `explore`. `flags` outlives the parsing.
std::vector<CLI::Option*> AddEvaluationFlags(CLI::App* app, EvaluationFlags* flags);

// Adds a flag `name` ("--output") for `record`, and --explore.
std::vector<CLI::Option*> AddRecordFlags(CLI::App* app, const std::string& name, EvaluationFlags* flags);

// The same as flags of waggle-actor, with "--evaluate=PATH".
std::vector<std::string> ActorArguments(const EvaluationFlags& flags);

}  // namespace waggle
