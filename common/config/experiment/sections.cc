#include "common/config/experiment/sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/problems.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/experiment/table_fields.h"
#include "common/config/experiment/visit_name.h"
#include "common/config/table/shard_config.h"

namespace waggle {
namespace {

constexpr int64_t kMaxCount = 1'000'000'000'000;
constexpr int64_t kMaxEpisodes = 1'000'000;
constexpr double kMaxSeconds = 1e9;

// PyTorch's names of supported devices. The process that uses a device finds out if it exists.
constexpr char kDevices[] = "cpu, cuda or cuda:N";
bool IsDevice(const std::string& name) {
  absl::string_view device = name;
  if (device == "cpu" || device == "cuda") {
    return true;
  }
  int index = -1;
  return absl::ConsumePrefix(&device, "cuda:") && device.size() <= 3 && !device.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(device[0])) && absl::SimpleAtoi(device, &index) && index >= 0;
}

// It becomes part of a folder's name.
constexpr char kFileNames[] = "1 to 64 of the characters A-Z a-z 0-9 . _ -, with neither . nor - first";
bool IsFileName(const std::string& name) {
  return ValidateName(name).ok() && name.size() <= 64 && name.find('/') == std::string::npos && name[0] != '.' &&
         name[0] != '-';
}

constexpr char kNames[] = "1 to 128 of the characters A-Z a-z 0-9 . _ / -";
bool IsName(const std::string& name) {
  return ValidateName(name).ok();
}

constexpr char kNoOptions[] = "{}";
constexpr char kNoTransforms[] = "[]";
constexpr int64_t kMaxEnvironmentProcesses = 256;
constexpr char kEnvironmentIds[] = "ID, MODULE:ID or MODULE:CLASS, at most 128 characters";
bool IsEnvironmentId(const std::string& id) {
  return std::count(id.begin(), id.end(), ':') <= 1 && ValidateName(absl::StrReplaceAll(id, {{":", "/"}})).ok();
}

}  // namespace

void CutOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("period", &period, In(0, 1'000'000'000));
  visitor.Int("keep", &keep, In(1, 100));
}

absl::Status CutOptions::Validate() const {
  return absl::OkStatus();
}

void ExperimentOptions::Visit(ConfigVisitor& visitor) {
  visitor.CheckedString("name", &name, IsFileName, kFileNames);
  visitor.Int("seed", &seed, In(0, std::numeric_limits<int64_t>::max()));
  visitor.Bool("deterministic", &deterministic);
  visitor.Section("checkpoint", &checkpoint);
  if (visitor.IsGiven("population", population.is_given())) {
    visitor.Section("population", &population);
  }
}

absl::Status ExperimentOptions::Validate() const {
  return absl::OkStatus();
}

void GymnasiumOptions::Visit(ConfigVisitor& visitor) {
  visitor.CheckedString("id", &id, IsEnvironmentId, kEnvironmentIds);
  visitor.AnyValue("kwargs", &kwargs);
  visitor.AnyValue("wrappers", &wrappers);
  visitor.Choice("vector", &vector, {"auto", "true", "false"});
}

absl::Status GymnasiumOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!id.empty(), "id: is missing; wanted ", kEnvironmentIds);
  problems.AddUnless(kwargs[0] == '{', "kwargs: got ", kwargs, "; wanted a mapping");
  problems.AddUnless(wrappers[0] == '[', "wrappers: got ", wrappers, "; wanted a list");
  return problems.ToStatus();
}

void PettingZooOptions::Visit(ConfigVisitor& visitor) {
  visitor.CheckedString("id", &id, IsEnvironmentId, kEnvironmentIds);
  visitor.AnyValue("kwargs", &kwargs);
}

absl::Status PettingZooOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!id.empty(), "id: is missing; wanted ", kEnvironmentIds);
  problems.AddUnless(kwargs[0] == '{', "kwargs: got ", kwargs, "; wanted a mapping");
  return problems.ToStatus();
}

void PluginOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("library", &library);
  visitor.CheckedString("name", &name, IsName, kNames);
  visitor.AnyValue("options", &options);
}

absl::Status PluginOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!library.empty(), "library: is missing; wanted the path of a shared library");
  problems.AddUnless(!name.empty(), "name: is missing; wanted the name of one of its environments");
  problems.AddUnless(options[0] == '{', "options: got ", options, "; wanted a mapping");
  return problems.ToStatus();
}

std::string EnvironmentOptions::Scheme() const {
  return !gymnasium.id.empty()         ? kGymnasium
         : !pettingzoo.id.empty()      ? kPettingZoo
         : !plugin.library.empty()     ? kPlugin
         : !dm_env_rpc.address.empty() ? kDmEnvRpc
                                       : "";
}

void EnvironmentOptions::Visit(ConfigVisitor& visitor) {
  if (visitor.IsGiven(kGymnasium, !gymnasium.id.empty())) {
    visitor.Section(kGymnasium, &gymnasium);
  }
  if (visitor.IsGiven(kPettingZoo, !pettingzoo.id.empty())) {
    visitor.Section(kPettingZoo, &pettingzoo);
  }
  if (visitor.IsGiven(kPlugin, !plugin.library.empty())) {
    visitor.Section(kPlugin, &plugin);
  }
  if (visitor.IsGiven(kDmEnvRpc, !dm_env_rpc.address.empty())) {
    visitor.Section(kDmEnvRpc, &dm_env_rpc);
  }
  constexpr char kNotPython[] = "means something to environments of Python alone; wanted none, or gymnasium: {id: …}";
  if (visitor.Applies("processes", is_python(), kNotPython)) {
    visitor.Int("processes", &processes, In(1, kMaxEnvironmentProcesses));
  }
  if (visitor.Applies("python", is_python(), kNotPython)) {
    visitor.String("python", &python);
  }
  if (visitor.Applies("name", is_built_in(), absl::StrCat("means nothing beside ", Scheme(), "; wanted none"))) {
    visitor.CheckedString("name", &name, IsName, kNames);
  } else {
    name = absl::StrReplaceAll(absl::StrCat(gymnasium.id, pettingzoo.id, plugin.name), {{":", "/"}});
    name = name.empty() ? kDmEnvRpc : name;
  }
  if (visitor.Applies(
          "spec", name == kNullEnvironment,
          absl::StrCat("means nothing to the environment ", name, "; wanted none, or name: ", kNullEnvironment))) {
    visitor.Section("spec", &spec);
  }
  if (visitor.Applies("options", is_built_in(),
                      absl::StrCat("means nothing beside ", Scheme(), "; wanted none, or those of ", Scheme())) &&
      visitor.MayBeGiven(options != kNoOptions)) {
    visitor.AnyValue("options", &options);
  }
  if (visitor.MayBeGiven(transforms != kNoTransforms)) {
    visitor.AnyValue("transforms", &transforms);
  }
  const bool is_in_process = is_built_in() || Scheme() == kPlugin;
  if (visitor.Applies("threads", is_in_process,
                      absl::StrCat("means nothing beside ", Scheme(), ", which steps elsewhere; wanted none"))) {
    visitor.Int("threads", &threads, In(1, 1024));
  }
}

absl::Status EnvironmentOptions::Validate() const {
  Problems problems;
  const int sections = (gymnasium.id.empty() ? 0 : 1) + (pettingzoo.id.empty() ? 0 : 1) +
                       (plugin.library.empty() ? 0 : 1) + (dm_env_rpc.address.empty() ? 0 : 1);
  problems.AddUnless(sections <= 1, "has ", sections, " of gymnasium, pettingzoo, plugin and dm_env_rpc; wanted one");
  problems.AddUnless(options[0] == '{', "options: got ", options, "; wanted a mapping");
  problems.AddUnless(transforms[0] == '[', "transforms: got ", transforms, "; wanted a list");
  return problems.ToStatus();
}

ReplayOptions::ReplayOptions() {
  table.max_items = 100'000;
  table.max_bytes = int64_t{4} << 30;
  table.sampler.kind = SelectorKind::kPrioritized;
  table.rate_limiter.min_items = 1'000;
}

void ReplayOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("servers", &servers, In(1, kMaxShards));
  if (visitor.MayBeGiven(!import.empty())) {
    visitor.String("import", &import);
  }
  if (visitor.Applies("imported_share", !import.empty(),
                      "means nothing without import; wanted none, or import: FILE") &&
      visitor.MayBeGiven(imported_share > 0)) {
    visitor.Double("imported_share", &imported_share, In(0, 0.99));
  }
  VisitTableFields(&table, TableFieldSet::kAll, &visitor);
  if (visitor.Applies("checkpoint_seconds", table.durability != Durability::kNone,
                      "means nothing with durability none; wanted checkpoint or log, or none")) {
    visitor.Double("checkpoint_seconds", &checkpoint_seconds, In(0, kMaxSeconds));
  }
}

absl::Status ReplayOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!table.sampler.independent_draws || !table.sampler.without_replacement,
                     "sampler.independent_draws: means nothing without_replacement; wanted one of the two");
  const RateLimiterConfig& limiter = table.rate_limiter;
  problems.AddUnless(
      table.max_times_sampled == 0 || static_cast<double>(table.max_times_sampled) >= limiter.samples_per_insert,
      "max_times_sampled: ", table.max_times_sampled, " is less than rate_limiter.samples_per_insert, ",
      limiter.samples_per_insert, ", which could never be reached, so actors and learner would wait for each other");
  const absl::Status settings = TableFor(/*batch_size=*/1).ValidateSettings();
  problems.AddIfBad("", settings);
  return problems.ToStatus();
}

TableConfig ReplayOptions::TableFor(int64_t batch_size) const {
  TableConfig config = table;
  RateLimiterConfig& limiter = config.rate_limiter;
  if (limiter.samples_per_insert > 0 && limiter.error_buffer == 0 && !limiter.min_difference.has_value() &&
      !limiter.max_difference.has_value()) {
    // Room for a batch at each server alone, at least.
    const double batch = static_cast<double>(batch_size);
    limiter.error_buffer =
        std::max(10 * batch, static_cast<double>(servers) * (batch + limiter.samples_per_insert) / 2);
  }
  return config;
}

bool ReplayOptions::NeedsDataFolder() const {
  return table.durability != Durability::kNone || table.memory_limit > 0;
}

void ActorOptions::Visit(ConfigVisitor& visitor) {
  visitor.IntRange("processes", &least_processes, &processes, In(0, kMaxActorProcesses));
  if (visitor.MayBeGiven(first_learner_step > 0)) {
    visitor.Int("first_learner_step", &first_learner_step, In(0, 1'000'000'000));
  }
  visitor.Int("lanes", &lanes, In(1, 65'536));
  visitor.Int("chunk_rows", &chunk_rows, In(1, 65'536));
  visitor.Int("threads", &threads, In(1, 1024));
  visitor.CheckedString("device", &device, IsDevice, kDevices);
  visitor.Choice("inference", &inference, {"local", "server"});
  visitor.Double("refresh_seconds", &refresh_seconds, In(0, 3600));
  visitor.Int("max_unacknowledged_blocks", &max_unacknowledged_blocks, In(1, 1'000'000));
  visitor.Int("max_unacknowledged_mebibytes", &max_unacknowledged_mebibytes, In(1, 65'536));
  if (visitor.IsGiven("self_play", self_play.has_value())) {
    if (!self_play.has_value()) {
      self_play.emplace();
    }
    visitor.Section("self_play", &*self_play);
  }
}

absl::Status ActorOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!acts() || least_processes > 0, "processes: got {min: 0, max: ", processes,
                     "}; wanted a min of at least 1, or 0 for no actors at all");
  problems.AddUnless(!self_play.has_value() || (acts() && !asks_learner()), "self_play: got processes: ", processes,
                     " and inference: ", inference,
                     "; wanted at least 1 and local, as opponents act by weights that an actor has itself");
  return problems.ToStatus();
}

void CheckpointOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("period_seconds", &period_seconds, In(0, kMaxSeconds));
  visitor.Int("keep", &keep, In(1, 1'000'000));
}

absl::Status CheckpointOptions::Validate() const {
  return absl::OkStatus();
}

void InitOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("from", &from);
  if (visitor.MayBeGiven(!map.empty())) {
    visitor.TextMap("map", &map, IsName, kNames);
  }
}

absl::Status InitOptions::Validate() const {
  Problems problems;
  problems.AddUnless(is_given(), "from: is missing; wanted the folder of another run, of checkpoints or of weights");
  return problems.ToStatus();
}

void InferenceOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("batch_rows", &batch_rows, In(1, 65'536));
  visitor.Double("wait_seconds", &wait_seconds, In(0, 60));
}

void GradientServerOptions::Visit(ConfigVisitor& visitor) {
  const auto applies = [&](const char* key) {
    return visitor.Applies(key, !learners_push,
                           "means nothing if learners push their gradients; wanted none, or "
                           "learner.processes: 1");
  };
  if (applies("reducers")) {
    visitor.Int("reducers", &reducers, In(0, 1'000));
  }
  visitor.Choice("reduce", &reduce, {"mean", "sum"});
  if (visitor.Applies("batch", reducers > 0, "means nothing while reducers is 0; wanted reducers, or primary_batch")) {
    visitor.Int("batch", &batch, In(1, 4096));
  }
  visitor.Int("primary_batch", &primary_batch, In(1, 4096));
  visitor.Double("flush_seconds", &flush_seconds, In(0.001, 60));
  visitor.OptionalInt("max_staleness", &max_staleness, In(0, 1'000'000'000));
  if (visitor.Applies("stale", max_staleness.has_value(),
                      "means nothing without max_staleness; wanted one, or none of the two")) {
    visitor.Choice("stale", &stale, {"refuse", "scale"});
  }
  if (applies("max_unacknowledged")) {
    visitor.Int("max_unacknowledged", &max_unacknowledged, In(1, 1024));
  }
}

void LearnerOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("processes", &processes, In(1, kMaxLearnerProcesses));
  visitor.CheckedString("device", &device, IsDevice, kDevices);
  visitor.Int("threads", &threads, In(1, 1024));
  visitor.Int("batch_size", &batch_size, In(1, 1'000'000));
  visitor.Int("prefetch_batches", &prefetch_batches, In(0, 1024));
  visitor.OptionalInt("max_policy_lag", &max_policy_lag, In(0, 1'000'000'000));
  VisitName("batch_compression", &batch_compression, {Codec::kNone, Codec::kLz4, Codec::kZstd}, &visitor);
  visitor.Int("publish_period_steps", &publish_period_steps, In(1, 1'000'000'000));
  visitor.Int("priority_update_steps", &priority_update_steps, In(1, 10'000));
  visitor.Int("report_period_steps", &report_period_steps, In(1, 1'000'000'000));
  visitor.Section("checkpoint", &checkpoint);
  visitor.Choice("gradients", &gradients, {"local", "push"});
  gradient_server.learners_push = learners_push();
  if (visitor.Applies("gradient_server", gradients == "push",
                      "means nothing with gradients: local; wanted gradients: push, or none")) {
    visitor.Section("gradient_server", &gradient_server);
  }
  if (visitor.Applies("init", !actors_push(), "means nothing if actors push gradients; wanted gradients: local") &&
      visitor.IsGiven("init", init.is_given())) {
    visitor.Section("init", &init);
  }
}

void EvaluationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Bool("enabled", &enabled);
  const auto applies = [&](const char* key) {
    return visitor.Applies(key, enabled, "means nothing while enabled is false; wanted none, or enabled: true");
  };
  if (applies("episodes")) {
    visitor.Int("episodes", &episodes, In(1, kMaxEpisodes));
  }
  if (applies("confirm_episodes")) {
    visitor.Int("confirm_episodes", &confirm_episodes, In(1, kMaxEpisodes));
  }
  if (applies("period_seconds")) {
    visitor.Double("period_seconds", &period_seconds, In(0, kMaxSeconds));
  }
  if (applies("period_steps")) {
    visitor.Int("period_steps", &period_steps, In(1, 1'000'000'000));
  }
  if (applies("period_learner_steps")) {
    visitor.OptionalInt("period_learner_steps", &period_learner_steps, In(1, 1'000'000'000));
  }
  if (applies("environment") && visitor.IsGiven("environment", has_own_environment)) {
    visitor.Section("environment", &environment);
  }
}

absl::Status EvaluationOptions::Validate() const {
  return absl::OkStatus();
}

void StopOptions::Visit(ConfigVisitor& visitor) {
  visitor.OptionalDouble("target_return", &target_return,
                         In(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()));
  visitor.Int("max_env_steps", &max_env_steps, In(0, kMaxCount));
  visitor.Int("max_learner_steps", &max_learner_steps, In(0, kMaxCount));
  visitor.Double("max_seconds", &max_seconds, In(0, kMaxSeconds));
}

absl::Status StopOptions::Validate() const {
  Problems problems;
  problems.AddUnless(
      target_return.has_value() || max_env_steps > 0 || max_learner_steps > 0 || max_seconds > 0,
      "nothing ends the run; wanted at least one of target_return, max_env_steps, max_learner_steps, max_seconds");
  return problems.ToStatus();
}

}  // namespace waggle
