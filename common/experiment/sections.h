#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/experiment/dm_env_rpc_options.h"
#include "common/experiment/spec_options.h"
#include "common/table_config/table_config.h"

// The sections of an experiment's YAML file that are the same for every algorithm. Each field's comment says what it
// means, its unit, and what a change costs; the defaults stand here and nowhere else. Visit() holds each value's range,
// Validate() what values must be to each other.

namespace waggle {

// The most actor processes that an experiment may ask for, and the most learners.
inline constexpr int64_t kMaxActorProcesses = 1024;
inline constexpr int64_t kMaxLearnerProcesses = 64;

// `experiment:` — what the run is called.
struct ExperimentOptions {
  std::string name = "experiment";  // Names the output folder and the model.
  int64_t seed = 1;                 // All randomness of the run follows from it.
  // Whether actor, learner, evaluator and recorder take turns, so that two runs on one kind of machine are equal bit
  // for bit: for one actor and one replay server.
  bool deterministic = false;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.gymnasium:` — an environment of Gymnasium, or one that looks like it, in processes of the user's Python.
struct GymnasiumOptions {
  // "CartPole-v1", "MODULE:ENVIRONMENT-ID" or "MODULE:CLASS". Empty: the environment is none of Gymnasium's.
  std::string id;
  std::string kwargs = "{}";  // What it is made with: a mapping, as JSON.
  // A list of "NAME", of gymnasium.wrappers, or "MODULE:NAME", or {either: {arguments}}; the first is the innermost.
  std::string wrappers = "[]";
  // Whether it steps several lanes at once by itself: true, false, or auto, if it can, alike, and there are no
  // wrappers.
  std::string vector = "auto";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.pettingzoo:` — a parallel environment of several agents, in processes of the user's Python.
struct PettingZooOptions {
  // "MODULE", which has parallel_env, or "MODULE:CALLABLE". Empty: the environment is none of PettingZoo's.
  std::string id;
  std::string kwargs = "{}";  // What it is made with: a mapping, as JSON.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.plugin:` — an environment in a shared library: actor/plugin/waggle_environment.h.
struct PluginOptions {
  std::string library;  // A path on the actors' machines. Empty: the environment is in none.
  std::string name;     // Which of the library's environments.
  std::string options = "{}";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// Who opens an environment; an actor offers the names of these to the pool, beside built-in environments.
inline constexpr char kGymnasium[] = "gymnasium";
inline constexpr char kPettingZoo[] = "pettingzoo";
inline constexpr char kPlugin[] = "plugin";

// `environment:` — what is to be learned.
struct EnvironmentOptions {
  std::string name = "CartPole-v1";  // A name from the environment registry; or what follows from the id below.
  SpecOptions spec;                  // For kNullEnvironment alone.
  // Settings that an environment has of its own, by their names: a mapping, as JSON. See ReadSettings in
  // actor/environments/environment_settings.h.
  std::string options = "{}";
  GymnasiumOptions gymnasium;
  PettingZooOptions pettingzoo;
  PluginOptions plugin;
  DmEnvRpcOptions dm_env_rpc;
  // What is changed between the environment and the policy, from the environment outwards: a list of "NAME" or
  // {NAME: {settings}}, as JSON. See actor/transforms/transform.h.
  std::string transforms = "[]";
  // How many threads of each actor step its lanes. For slow environments that run in the actor's process.
  int64_t threads = 1;
  // How many processes of each actor step its lanes. For environments of Python.
  int64_t processes = 1;
  std::string python = "python3";  // The interpreter of these processes: a path, or a name that PATH has.

  // The section that says who opens it: "gymnasium", "pettingzoo", "plugin", "dm_env_rpc"; empty if it is built in.
  std::string Scheme() const;
  bool is_built_in() const { return Scheme().empty(); }
  bool is_python() const { return Scheme() == kGymnasium || Scheme() == kPettingZoo; }
  // What a worker must offer for it.
  std::string Offer() const { return is_built_in() ? name : Scheme(); }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `replay:` — the buffer between actors and learner.
struct ReplayOptions {
  ReplayOptions();

  // Replay servers that the buffer is spread over; the run begins when all have joined, and goes on without those that
  // are lost. What follows is of all of them together.
  int64_t servers = 1;
  // Between checkpoints of a server that `waggle run` starts, where the durability asks for them; 0: only at its end.
  double checkpoint_seconds = 300;
  // The other keys, as VisitTableFields names them, which stand beside these two. An error_buffer of 0 beside a ratio,
  // without bounds of the difference, stands for ten batches, or more where there are very many servers.
  TableConfig table;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;

  // What a table of the run is made from: `table` with its limiter filled in. The algorithm adds what it alone knows.
  TableConfig TableFor(int64_t batch_size) const;
  // Whether a server keeps anything on its disk, and so needs a folder.
  bool NeedsDataFolder() const;
};

// `actor:` — the processes that act.
struct ActorOptions {
  // How many there are: a number, or {min: 2, max: 16}, where the run begins with the fewer and takes what more there
  // is; `waggle run` starts the more. What waits for all of them, as PPO's unrolls do, needs a number.
  int64_t processes = 1;
  int64_t least_processes = 1;  // `processes.min`.
  int64_t lanes = 16;           // Environments stepped together in one process.
  int64_t chunk_rows = 16;      // Steps of a lane that are sent together; more is less overhead and later data.
  int64_t threads = 1;          // Of the tensor library; more than one pays for large networks only.
  std::string device = "cpu";   // Where actions are computed: cpu, cuda or cuda:N.
  // Who computes them: local, each actor with weights of its own; or server, the learner's process for all actors, on
  // the learner's device. Not for actors that wait for each learner step.
  std::string inference = "local";
  bool asks_learner() const { return inference == "server"; }  // For its actions.
  double refresh_seconds = 0.05;                               // Newer weights are asked for at most this often.
  // Sent and unacknowledged before the actor waits; a block is one chunk of every lane. What waits here was acted on
  // weights that grow old: more rides out a longer pause of the server, less keeps the data fresh.
  int64_t max_unacknowledged_blocks = 4;
  int64_t max_unacknowledged_mebibytes = 64;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `learner.checkpoint:` — what survives the learner.
struct CheckpointOptions {
  // At most, from one checkpoint to the next: the first come sooner. One is also written at the end; 0: only that one.
  double period_seconds = 60;
  int64_t keep = 3;  // Older ones are deleted.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `learner.inference:` — how the learner's process computes actions where `actor.inference` is server. A batch is begun
// when one of the two is reached, or when all actors wait.
struct InferenceOptions {
  int64_t batch_rows = 256;     // Rows of a batch; no more are computed together.
  double wait_seconds = 0.001;  // That the first request of a batch waits for others.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A batch_size that an algorithm may have as its default, and that a file cannot give: as many items as all actors of
// the run have lanes. ParseExperiment fills it in.
inline constexpr int64_t kOneOfEachLane = 0;

// `learner.gradient_server:` — how gradients that actors push become steps.
struct GradientServerOptions {
  int64_t reducers = 0;         // Processes that add gradients up on the way to the primary; 0: actors push to that.
  std::string reduce = "mean";  // mean or sum, over all gradients of a step.
  int64_t batch = 1;            // Gradients that a reducer adds up before it hands the sum on.
  int64_t primary_batch = 1;    // Gradients, or sums of reducers, that make a step.
  double flush_seconds = 0.05;  // Fewer are made do with when the first has waited for so long.
  // A gradient may be based on weights of so many steps ago; absent: of any.
  std::optional<int64_t> max_staleness;
  // What becomes of an older one: refuse, or scale, by 1 / (1 + the steps above max_staleness).
  std::string stale = "refuse";
  int64_t max_unacknowledged = 4;  // Gradients of one actor that are not answered, before it waits.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `learner:` — the process that learns.
struct LearnerOptions {
  // How many there are. Several are a group: each samples batches of its own, and all step by the mean of their
  // gradients, so that a step learns from so many times batch_size items. Not for actors that wait for each learner
  // step.
  int64_t processes = 1;
  std::string device = "cpu";    // cpu, cuda or cuda:N.
  int64_t threads = 1;           // Of the tensor library; more than one pays for large networks only.
  int64_t batch_size = 128;      // Items a learner step, of each learner.
  int64_t prefetch_batches = 4;  // Batches asked for ahead; 0: each when it is needed, of one server.
  // Items that were acted by weights of more learner steps ago are left out of their batch, and counted; absent: none
  // is. Not for tables whose items have priorities.
  std::optional<int64_t> max_policy_lag;
  // How batches travel where that makes them much shorter, as frames do: none, lz4 or zstd. It costs both sides time.
  Codec batch_compression = Codec::kNone;
  int64_t publish_period_steps = 50;  // Learner steps from one publication of the weights to the next.
  // Learner steps whose new priorities are sent together; more is less overhead and later priorities.
  int64_t priority_update_steps = 8;
  // Of a deterministic run: learner steps from one row of its figures to the next.
  int64_t report_period_steps = 100;
  InferenceOptions inference;  // Visited by the experiment, as it has a meaning only beside actor.inference: server.
  CheckpointOptions checkpoint;
  // Where gradients are computed: local, by the learner; or push, by actors, who push them to a parameter server's
  // primary, which stands in the learner's place.
  std::string gradients = "local";
  GradientServerOptions gradient_server;

  bool pushes() const { return gradients == "push"; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `evaluation:` — greedy episodes beside the training.
struct EvaluationOptions {
  bool enabled = true;
  int64_t episodes = 20;  // Whose mean return is reported.
  // Of the second evaluation of weights that reached the target: the first, one of many, may have been lucky.
  int64_t confirm_episodes = 100;
  // From the start of one evaluation to the start of the next; each takes the newest weights. 0: without a pause, where
  // there are newer ones; small networks then fill metrics and terminals with dozens a second.
  double period_seconds = 1;
  // The same of a deterministic run, in learner steps.
  int64_t period_steps = 500;
  // What is evaluated on: `environment:` with the keys that are given here in place of its own.
  EnvironmentOptions environment;
  bool has_own_environment = false;  // Some are given.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `stop:` — when the run is over; absent and 0 mean "not by this". At least one must be given.
struct StopOptions {
  // Solved when the mean returns of two evaluations of the same weights reach it.
  std::optional<double> target_return;
  // Over all actors, which are given their parts of what is left; each may pass it by fewer than its lanes; where
  // actors wait for each learner step by an unroll or two, and in a deterministic run by less than a turn.
  int64_t max_env_steps = 0;
  int64_t max_learner_steps = 0;
  // Since the first environment step, so that processes may be started by hand in any order; the time without a hub, or
  // in which the run had failed, does not count. `waggle run`, which starts them itself, fails where no step comes
  // within this and a minute.
  double max_seconds = 0;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
