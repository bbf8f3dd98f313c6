#include "common/experiment/sections.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/base/problems.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

constexpr int64_t kMaxCount = 1'000'000'000'000;
constexpr double kMaxSeconds = 1e9;
constexpr int64_t kMaxReplayServers = 1024;

bool IsDevice(absl::string_view device) {
  if (device == "cpu" || device == "cuda") {
    return true;
  }
  int index = -1;
  return absl::ConsumePrefix(&device, "cuda:") && device.size() <= 3 && !device.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(device[0])) && absl::SimpleAtoi(device, &index) && index >= 0;
}

// It becomes part of a folder's name.
bool IsFileName(const std::string& name) {
  return ValidateName(name).ok() && name.size() <= 64 && name.find('/') == std::string::npos && name[0] != '.' &&
         name[0] != '-';
}

}  // namespace

void ExperimentOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("name", &name);
  visitor.Int("seed", &seed, 0, std::numeric_limits<int64_t>::max());
}

absl::Status ExperimentOptions::Validate() const {
  Problems problems;
  problems.AddUnless(IsFileName(name), "name: got \"", name,
                     "\"; wanted 1 to 64 of the characters A-Z a-z 0-9 . _ -, with neither . nor - first");
  return problems.ToStatus();
}

void EnvironmentOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("name", &name);
}

absl::Status EnvironmentOptions::Validate() const {
  Problems problems;
  problems.AddUnless(ValidateName(name).ok(), "name: got \"", name,
                     "\"; wanted 1 to 128 of the characters A-Z a-z 0-9 . _ / -");
  return problems.ToStatus();
}

void ReplayOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("servers", &servers, 1, kMaxReplayServers);
  visitor.Int("max_items", &max_items, 1, 1'000'000'000);
  visitor.Int("max_mebibytes", &max_mebibytes, 1, int64_t{1} << 24);
  visitor.Int("min_items", &min_items, 1, 1'000'000'000);
  visitor.Choice("sampler", &sampler, {"prioritized", "uniform", "fifo"});
  visitor.Double("priority_exponent", &priority_exponent, 0, 10);
  visitor.Double("samples_per_insert", &samples_per_insert, 0, 1e6);
  visitor.Double("error_buffer", &error_buffer, 0, 1e12);
}

absl::Status ReplayOptions::Validate() const {
  Problems problems;
  problems.AddUnless(min_items <= max_items, "min_items: got ", min_items, "; wanted at most max_items, which is ",
                     max_items, ", or learning would never begin");
  problems.AddUnless(error_buffer == 0 || samples_per_insert > 0,
                     "error_buffer: means nothing while samples_per_insert is 0; wanted 0 or a samples_per_insert");
  problems.AddUnless(sampler == "prioritized" || priority_exponent == ReplayOptions().priority_exponent,
                     "priority_exponent: means nothing to the sampler ", sampler, "; wanted prioritized, or none");
  return problems.ToStatus();
}

void ActorOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("processes", &processes, 1, 1024);
  visitor.Int("lanes", &lanes, 1, 65'536);
  visitor.Int("chunk_rows", &chunk_rows, 1, 65'536);
  visitor.Int("threads", &threads, 1, 1024);
  visitor.String("device", &device);
  visitor.Double("refresh_seconds", &refresh_seconds, 0, 3600);
  visitor.Int("max_unacknowledged_blocks", &max_unacknowledged_blocks, 1, 1'000'000);
  visitor.Int("max_unacknowledged_mebibytes", &max_unacknowledged_mebibytes, 1, 65'536);
}

absl::Status ActorOptions::Validate() const {
  Problems problems;
  problems.AddUnless(IsDevice(device), "device: got \"", device, "\"; wanted cpu, cuda or cuda:N");
  return problems.ToStatus();
}

void CheckpointOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("period_seconds", &period_seconds, 0, kMaxSeconds);
  visitor.Int("keep", &keep, 1, 1'000'000);
}

absl::Status CheckpointOptions::Validate() const {
  return absl::OkStatus();
}

void LearnerOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("device", &device);
  visitor.Int("threads", &threads, 1, 1024);
  visitor.Int("batch_size", &batch_size, 1, 1'000'000);
  visitor.Int("prefetch_batches", &prefetch_batches, 1, 1024);
  visitor.Int("publish_period_steps", &publish_period_steps, 1, 1'000'000'000);
  visitor.Int("priority_update_steps", &priority_update_steps, 1, 10'000);
  visitor.Section("checkpoint", &checkpoint);
}

absl::Status LearnerOptions::Validate() const {
  Problems problems;
  problems.AddUnless(IsDevice(device), "device: got \"", device, "\"; wanted cpu, cuda or cuda:N");
  return problems.ToStatus();
}

void EvaluationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Bool("enabled", &enabled);
  visitor.Int("episodes", &episodes, 1, 1'000'000);
  visitor.Double("period_seconds", &period_seconds, 0, kMaxSeconds);
}

absl::Status EvaluationOptions::Validate() const {
  return absl::OkStatus();
}

void StopOptions::Visit(ConfigVisitor& visitor) {
  visitor.OptionalDouble("target_return", &target_return, std::numeric_limits<double>::lowest(),
                         std::numeric_limits<double>::max());
  visitor.Int("max_env_steps", &max_env_steps, 0, kMaxCount);
  visitor.Int("max_learner_steps", &max_learner_steps, 0, kMaxCount);
  visitor.Double("max_seconds", &max_seconds, 0, kMaxSeconds);
}

absl::Status StopOptions::Validate() const {
  Problems problems;
  problems.AddUnless(
      target_return.has_value() || max_env_steps > 0 || max_learner_steps > 0 || max_seconds > 0,
      "nothing ends the run; wanted at least one of target_return, max_env_steps, max_learner_steps, max_seconds");
  return problems.ToStatus();
}

}  // namespace waggle
