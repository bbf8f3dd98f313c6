#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/rpc_environments/rpc_settings.h"
#include "actor/rpc_environments/served_environment.h"
#include "actor/rpc_environments/served_properties.h"
#include "common/base/mutex.h"
#include "common/base/random.h"

namespace waggle {

// Somebody who has joined a world.
struct WorldMember {
  std::string world_name;
  RpcSettings settings;  // The world's, with those of the join over them.
  std::unique_ptr<ServedEnvironment> environment;
  std::atomic<bool> interrupted{false};  // By another member's reset of the world.
  int64_t memory_bytes = 0;
};

// The worlds of a server, all of one environment. Each is settings under a name; everybody who joins one gets copies of
// the environment that are made from them. The world "" is always there. Thread-safe.
//
// The settings `lanes` and `seed` are the server's; the others, with dots for the levels of a mapping, go over the
// environment's options.
class ServedWorlds {
 public:
  // At most so many worlds; then the oldest that nobody has joined makes room for a new one.
  static constexpr size_t kMaxWorlds = 1'000;

  // `definition` is that of `options`, and outlives this. All members together take at most `max_bytes` of memory.
  // INVALID_ARGUMENT for options that the environment does not have.
  static absl::StatusOr<std::unique_ptr<ServedWorlds>> Create(const EnvironmentDefinition* definition,
                                                              const EnvironmentOptions& options, uint64_t seed,
                                                              int64_t max_bytes);

  // Facts about the environment beside its specs.
  const std::vector<ServedProperty>& properties() const { return properties_; }

  // The new world's name. INVALID_ARGUMENT for settings that the environment does not have.
  absl::StatusOr<std::string> CreateWorld(const RpcSettings& settings);
  // NOT_FOUND for a world that is not there; FAILED_PRECONDITION for one that somebody has joined, and for "".
  absl::Status Destroy(const std::string& name);
  // NOT_FOUND for a world that is not there; INVALID_ARGUMENT for settings that it cannot be joined with;
  // RESOURCE_EXHAUSTED if there is no memory left.
  absl::StatusOr<std::shared_ptr<WorldMember>> Join(const std::string& name, const RpcSettings& settings);
  // Makes the member's environment anew, with these settings over those of before. On an error the member is as it was.
  absl::Status Remake(const RpcSettings& settings, WorldMember* member);
  void Leave(const std::shared_ptr<WorldMember>& member);
  // Interrupts all members but `caller`, which may be null. NOT_FOUND for a world that is not there.
  absl::Status Interrupt(const std::string& name, const WorldMember* caller);

 private:
  ServedWorlds(const EnvironmentDefinition* definition, EnvironmentOptions options, uint64_t seed, int64_t max_bytes);

  struct World {
    int64_t number = 0;  // 0: the world "".
    RpcSettings settings;
    std::vector<std::shared_ptr<WorldMember>> members;
  };
  struct Made {
    std::unique_ptr<ServedEnvironment> environment;
    int64_t memory_bytes = 0;
  };

  // A property whose value remains to be written.
  dm::Tensor* AddProperty(const char* key, const char* description, dm::DataType type);
  // Makes an environment from all of its settings. Takes its memory out of the budget.
  absl::StatusOr<Made> Make(RpcSettings settings);
  absl::StatusOr<EnvironmentOptions> OptionsWith(const RpcSettings& settings) const;

  const EnvironmentDefinition* const definition_;
  const EnvironmentOptions options_;
  const uint64_t seed_;
  const int64_t max_bytes_;
  std::vector<ServedProperty> properties_;
  Mutex mutex_;
  std::map<std::string, World> worlds_ ABSL_GUARDED_BY(mutex_);
  int64_t created_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
