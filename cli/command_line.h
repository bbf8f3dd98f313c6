#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/experiments/sweep.h"
#include "cli/replay/replay_target.h"
#include "common/base/process/evaluation_flags.h"
#include "common/hub/ports/hub.h"
#include "common/net/security/access_role.h"
#include "common/net/security/security_options.h"

namespace waggle {

struct RunFlags {
  std::string file;    // May be empty if `resume` is not.
  std::string resume;  // The folder of a run that goes on. Empty: a new run.
  // Values that replace those of the file: --set, then --actors, --replay-servers, --learners and --seed.
  std::vector<std::pair<std::string, std::string>> overrides;
  std::string output_dir;  // Empty: runs/NAME-TIME.
  bool plot = true;        // True if the curves are drawn at the end.
};

struct PlotFlags {
  std::vector<std::string> runs;  // Their folders, or experiments' ids.
  std::string param_server;       // The hub of these experiments. Empty: none is asked.
  std::string out;                // Empty: RUN/curves.png for one run's folder, curves.png otherwise.
  bool returns_only = false;
};

struct CompareFlags {
  std::vector<std::string> runs;  // As PlotFlags.
  std::string param_server;
  std::string by = "result";  // The score that settings are sorted by: "result" or "area".
  bool json = false;
};

struct CardFlags {
  std::string run;  // Its folder, or an experiment's id.
  std::string param_server;
  std::string folder;  // Empty: RUN/card for a folder, ID-card for an id.
  bool video = false;
  int64_t video_episodes = 1;
};

struct FetchFlags {
  std::string param_server;
  std::string id;
  std::string folder;  // Empty: one with the id's name in the working folder.
  bool json = false;
};

// For the pool and all experiments if no experiment and no replay servers are given.
struct StatusFlags {
  ReplayTarget target;
  bool json = false;
};

// `waggle top`.
struct TopFlags {
  std::string param_server;
  double period_seconds = 2;  // From one screen to the next.
};

struct SubmitFlags {
  std::string param_server;
  std::string file;
  std::vector<std::pair<std::string, std::string>> overrides;
  // Not empty: a group of experiments, one for each combination of the values. --sweep, then --seeds.
  std::vector<SweepAxis> sweeps = {};
  int64_t priority = 0;
  std::vector<std::string> tags = {};
  std::string owner = {};  // Empty: the user's name.
  bool watch = false;
  bool json = false;
};

struct ListFlags {
  std::string param_server;
  bool json = false;
  int64_t limit = 100;
  std::optional<RunState> state;  // Absent: any.
  // Empty: all.
  std::string group = {};
  std::vector<std::string> tags = {};
  std::string owner = {};
  std::string name = {};
  bool flat = false;  // Members of groups instead of groups.
};

struct WatchFlags {
  std::string param_server;
  std::string id;  // Complete.
  bool json = false;
};

// `waggle stop`, `resume`, `delete`, `priority` and `checkpoint`.
struct ChangeFlags {
  enum class Change { kStop, kResume, kDelete, kPriority, kCheckpoint };
  std::string param_server;
  std::vector<std::string> ids;  // Words for ExperimentClient::Resolve.
  Change change = Change::kStop;
  bool json = false;
  std::vector<std::pair<std::string, std::string>> limits = {};  // For kResume: {"stop.max_env_steps", "100000"}.
  int64_t priority = 0;                                          // For kPriority.
  int64_t cut = 0;                                               // For kResume: the cut to go back to; 0: none.
};

struct SetFlags {
  std::string param_server;
  std::string id;
  std::vector<std::pair<std::string, std::string>> numbers;  // {"algorithm.optimizer.learning_rate", "1e-4"}.
  bool dry_run = false;
  bool json = false;
};

struct LogsFlags {
  std::string param_server;
  std::string id;
  bool follow = false;
  bool json = false;
};

struct CheckFlags {
  std::string file;
  std::vector<std::pair<std::string, std::string>> overrides;
};

struct WhyFlags {
  ReplayTarget target;
  std::string table;  // Empty: all.
  bool json = false;
};

struct InspectFlags {
  ReplayTarget target;
  TableQuestion question;
  bool cuts = false;  // Asks for the cuts of the experiment instead.
  bool json = false;
};

struct ReconfigureFlags {
  ReplayTarget target;
  std::string table;
  std::vector<std::pair<std::string, std::string>> changes;  // {"rate_limiter.max_difference", "900"}.
  bool dry_run = false;
};

struct ExportFlags {
  ReplayTarget target;
  std::string table;
  std::string file;
};

struct ImportFlags {
  ReplayTarget target;
  std::string file;
  std::string table;          // Empty: the file's own table.
  int64_t idle_seconds = 60;  // The longest time without an acknowledgement.
};

// `waggle export`.
struct PolicyFlags {
  std::string param_server;  // The hub of an experiment. Empty: none is asked.
  std::string path;          // The weights, or a folder that holds them.
  std::string output;        // Empty: policy.onnx in the run's folder.
  bool newest = false;       // The newest weights rather than the best.
};

// `waggle import`.
struct DatasetFlags {
  std::vector<std::string> sources;
  std::string output;
  std::string python = "python3";
  bool drop_last = false;
};

struct ServeEnvironmentFlags {
  std::string name;
  std::string listen;
  // Values of the environment section: {"environment.options.x", "1"}.
  std::vector<std::pair<std::string, std::string>> overrides;
  int64_t seed = 1;  // The seed for joins that bring none.
};

struct PlayFlags {
  std::string environment;  // A built-in environment's name, or an experiment's file, FILE.yaml.
  std::vector<std::pair<std::string, std::string>> overrides;
  int64_t episodes = 1;
  std::optional<int64_t> seed;  // Nothing: another one each time.
  bool random = false;          // Random actions instead of typed ones.
  std::string video;            // The folder for films of episodes. Empty: no films.
  int64_t video_episodes = 1;
  bool json = false;
};

// The alternative to running a verb: print a text and exit.
struct PrintAndExit {
  std::string text;
  int status = 0;  // 0: help or version, for the standard output. 2: wrong usage, for the standard error stream.
};

// `waggle configs`.
struct ConfigsFlags {
  std::string name;  // Empty: all are listed.
};

struct HealthFlags {
  std::string address;  // HOST:PORT.
  std::string service;  // Empty: the server as a whole.
};

struct TokenFlags {
  std::string name;
  AccessRole role = AccessRole::kSubmitter;
};

using Command =
    std::variant<PrintAndExit, RunFlags, CheckFlags, EvaluationFlags, PlotFlags, SubmitFlags, ListFlags, StatusFlags,
                 WatchFlags, ChangeFlags, SetFlags, LogsFlags, HealthFlags, WhyFlags, InspectFlags, ReconfigureFlags,
                 ExportFlags, ImportFlags, DatasetFlags, ServeEnvironmentFlags, PlayFlags, FetchFlags, CompareFlags,
                 CardFlags, TopFlags, PolicyFlags, ConfigsFlags, TokenFlags>;

// Parses `waggle VERB …`. Sets `security` for a verb that connects to servers. Reads the environment variables
// WAGGLE_PARAM_SERVER, WAGGLE_TLS and the like.
Command ParseCommand(int argc, const char* const* argv, SecurityOptions* security);

}  // namespace waggle
