#include "actor/environments/rpc/served_worlds.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/shown_text.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr int64_t kMaxLanes = 65'536;
constexpr size_t kMaxSettingsBytes = size_t{64} << 10;  // A world keeps its settings.

absl::Status NoSuchWorld(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("world_name: got \"", ShownText(name), "\"; there is no such world"));
}

RpcSettings Over(RpcSettings under, const RpcSettings& settings) {
  for (const auto& [name, tensor] : settings) {
    under[name] = tensor;
  }
  return under;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServedWorlds>> ServedWorlds::Create(const EnvironmentDefinition* definition,
                                                                   const EnvironmentOptions& options, uint64_t seed,
                                                                   int64_t max_bytes) {
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition->spec(options));
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  std::unique_ptr<ServedWorlds> worlds(new ServedWorlds(definition, options, seed, max_bytes));
  worlds->AddProperty("environment", "The environment's name", dm::STRING)->mutable_strings()->add_array(spec.name);
  worlds->AddProperty("description", "A line about it", dm::STRING)
      ->mutable_strings()
      ->add_array(definition->description);
  worlds->AddProperty("max_episode_steps", "Steps after which an episode is truncated; 0: no limit", dm::INT64)
      ->mutable_int64s()
      ->add_array(spec.max_episode_steps);
  return worlds;
}

dm::Tensor* ServedWorlds::AddProperty(const char* key, const char* description, dm::DataType type) {
  return &properties_.emplace_back(ServedProperty{key, description, type, {}}).value;
}

ServedWorlds::ServedWorlds(const EnvironmentDefinition* definition, EnvironmentOptions options, uint64_t seed,
                           int64_t max_bytes)
    : definition_(definition), options_(std::move(options)), seed_(seed), max_bytes_(max_bytes) {
  worlds_[""];
}

absl::StatusOr<EnvironmentOptions> ServedWorlds::OptionsWith(const RpcSettings& settings) const {
  EnvironmentOptions options = options_;
  if (!settings.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const std::string json, SettingsToJson(settings));
    auto merged = nlohmann::ordered_json::parse(options.options, nullptr, /*allow_exceptions=*/false);
    merged.merge_patch(nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false));
    options.options = merged.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  return options;
}

absl::StatusOr<ServedWorlds::Made> ServedWorlds::Make(RpcSettings settings) {
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> lanes, TakeInteger(kLanesSetting, 1, kMaxLanes, &settings));
  WAGGLE_ASSIGN_OR_RETURN(
      const std::optional<int64_t> seed,
      TakeInteger(kSeedSetting, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), &settings));
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentOptions options, OptionsWith(settings));
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition_->spec(options));
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  Made made;
  made.memory_bytes = ServedEnvironment::MemoryBytes(spec, lanes.value_or(1));
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    if (made.memory_bytes > max_bytes_ - taken_bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat(lanes.value_or(1), " lanes take ", made.memory_bytes,
                                                       " bytes; the server has ", max_bytes_ - taken_bytes_, " left"));
    }
    taken_bytes_ += made.memory_bytes;
    number = made_++;
  }
  absl::StatusOr<std::unique_ptr<ServedEnvironment>> environment = ServedEnvironment::Create(
      *definition_, options, lanes,
      seed.has_value() ? Rng(static_cast<uint64_t>(*seed)) : Rng::Split(seed_, "join", number));
  if (!environment.ok()) {
    MutexLock lock(&mutex_);
    taken_bytes_ -= made.memory_bytes;
    return environment.status();
  }
  made.environment = *std::move(environment);
  return made;
}

absl::StatusOr<std::string> ServedWorlds::CreateWorld(const RpcSettings& settings) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : settings) {
    bytes += name.size() + tensor.ByteSizeLong();
  }
  if (bytes > kMaxSettingsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings: got ", bytes, " bytes; wanted at most ", kMaxSettingsBytes));
  }
  RpcSettings own = settings;
  WAGGLE_RETURN_IF_ERROR(TakeInteger(kLanesSetting, 1, kMaxLanes, &own).status());
  own.erase(kSeedSetting);
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentOptions options, OptionsWith(own));
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition_->spec(options));
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  MutexLock lock(&mutex_);
  if (worlds_.size() >= kMaxWorlds) {
    auto unused = worlds_.end();  // The oldest one.
    for (auto world = worlds_.begin(); world != worlds_.end(); ++world) {
      const bool is_older = unused == worlds_.end() || world->second.number < unused->second.number;
      unused = is_older && world->second.number > 0 && world->second.members.empty() ? world : unused;
    }
    if (unused == worlds_.end()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the server has ", worlds_.size(), " worlds, which is the most"));
    }
    worlds_.erase(unused);
  }
  const std::string name = absl::StrCat("world-", ++created_);
  worlds_[name] = {created_, settings, {}};
  return name;
}

absl::Status ServedWorlds::Destroy(const std::string& name) {
  MutexLock lock(&mutex_);
  const auto found = worlds_.find(name);
  if (found == worlds_.end()) {
    return NoSuchWorld(name);
  }
  if (name.empty() || !found->second.members.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("world_name: got \"", name, "\", which ",
                                                      name.empty() ? "is always there" : "has been joined",
                                                      "; wanted a world without members"));
  }
  worlds_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<WorldMember>> ServedWorlds::Join(const std::string& name, const RpcSettings& settings) {
  auto member = std::make_shared<WorldMember>();
  member->world_name = name;
  {
    MutexLock lock(&mutex_);
    const auto found = worlds_.find(name);
    if (found == worlds_.end()) {
      return NoSuchWorld(name);
    }
    member->settings = Over(found->second.settings, settings);
    found->second.members.push_back(member);  // Keeps the world while the environment is made.
  }
  absl::StatusOr<Made> made = Make(member->settings);
  if (!made.ok()) {
    Leave(member);
    return made.status();
  }
  member->environment = std::move(made->environment);
  MutexLock lock(&mutex_);
  member->memory_bytes = made->memory_bytes;
  return member;
}

absl::Status ServedWorlds::Remake(const RpcSettings& settings, WorldMember* member) {
  RpcSettings all = Over(member->settings, settings);
  WAGGLE_ASSIGN_OR_RETURN(Made made, Make(all));
  member->settings = std::move(all);
  member->environment = std::move(made.environment);
  MutexLock lock(&mutex_);
  taken_bytes_ -= std::exchange(member->memory_bytes, made.memory_bytes);
  return absl::OkStatus();
}

void ServedWorlds::Leave(const std::shared_ptr<WorldMember>& member) {
  MutexLock lock(&mutex_);
  taken_bytes_ -= std::exchange(member->memory_bytes, 0);
  const auto found = worlds_.find(member->world_name);
  if (found != worlds_.end()) {
    std::vector<std::shared_ptr<WorldMember>>& members = found->second.members;
    members.erase(std::remove(members.begin(), members.end(), member), members.end());
  }
}

absl::Status ServedWorlds::Interrupt(const std::string& name, const WorldMember* caller) {
  MutexLock lock(&mutex_);
  const auto found = worlds_.find(name);
  if (found == worlds_.end()) {
    return NoSuchWorld(name);
  }
  for (const std::shared_ptr<WorldMember>& member : found->second.members) {
    if (member.get() != caller) {
      member->interrupted.store(true, std::memory_order_relaxed);  // The flag guards no other data.
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
