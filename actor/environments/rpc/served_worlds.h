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
#include "actor/environments/rpc/rpc_settings.h"
#include "actor/environments/rpc/served_environment.h"
#include "actor/environments/rpc/served_properties.h"
#include "common/base/random.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// A client that has joined a world.
struct WorldMember {
  std::string world_name;
  RpcSettings settings;  // The world's, overridden by those of the join.
  std::unique_ptr<ServedEnvironment> environment;
  std::atomic<bool> interrupted{false};  // By another member's reset of the world.
  int64_t memory_bytes = 0;
};

// The worlds of a server, all of one environment. A world is a name with settings; each client that joins it gets its
// own copies of the environment, made from the settings. The world "" is always there. Thread-safe.
//
// The settings `lanes` and `seed` are the server's. The others, with dots for the levels of a mapping, override the
// environment's options.
class ServedWorlds {
 public:
  // The most worlds. Beyond it a new world replaces the oldest one without members.
  static constexpr size_t kMaxWorlds = 1'000;

  // `definition` is that of `options`, and outlives this. All members together take at most `max_bytes` of memory.
  // INVALID_ARGUMENT if the environment does not have an option.
  static absl::StatusOr<std::unique_ptr<ServedWorlds>> Create(const EnvironmentDefinition* definition,
                                                              const EnvironmentOptions& options, uint64_t seed,
                                                              int64_t max_bytes);

  // Facts about the environment beside its specs.
  const std::vector<ServedProperty>& properties() const { return properties_; }

  // Creates a world and returns its name. INVALID_ARGUMENT if the environment does not have a setting.
  absl::StatusOr<std::string> CreateWorld(const RpcSettings& settings);
  // NOT_FOUND if there is no such world; FAILED_PRECONDITION if it has members, and for "".
  absl::Status Destroy(const std::string& name);
  // NOT_FOUND if there is no such world; INVALID_ARGUMENT if a setting is wrong; RESOURCE_EXHAUSTED if there is no
  // memory left.
  absl::StatusOr<std::shared_ptr<WorldMember>> Join(const std::string& name, const RpcSettings& settings);
  // Makes the member's environment anew, with these settings over the earlier ones. The member does not change on an
  // error.
  absl::Status Remake(const RpcSettings& settings, WorldMember* member);
  void Leave(const std::shared_ptr<WorldMember>& member);
  // Interrupts all members but `caller`, which may be null. NOT_FOUND if there is no such world.
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

  // Adds a property; the caller writes its value.
  dm::Tensor* AddProperty(const char* key, const char* description, dm::DataType type);
  // Makes an environment from its settings. Takes its memory from the budget.
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
