#include "actor/environments/plugin/environment_plugin.h"

#include <dlfcn.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/external/external_spec.h"
#include "actor/environments/leaf_elements.h"
#include "actor/environments/plugin/waggle_environment.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kEntry[] = "waggle_environment_plugin";

// A loaded library and the name of one of its environments.
class Plugin {
 public:
  static absl::StatusOr<std::shared_ptr<const Plugin>> Load(const std::string& library, const std::string& name,
                                                            const std::string& options) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      return absl::NotFoundError(absl::StrCat("environment.plugin.library: got ", library, ": ", dlerror()));
    }
    std::shared_ptr<Plugin> plugin(new Plugin(handle, name, options));
    const auto entry = reinterpret_cast<decltype(&waggle_environment_plugin)>(dlsym(handle, kEntry));
    if (entry == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("environment.plugin.library: got ", library, ", which has no function ", kEntry));
    }
    plugin->calls_ = entry();
    if (plugin->calls_ == nullptr || plugin->calls_->version != WAGGLE_ENVIRONMENT_PLUGIN_VERSION) {
      return absl::FailedPreconditionError(
          absl::StrCat("environment.plugin.library: got ", library, ", which is made for version ",
                       plugin->calls_ == nullptr ? 0 : plugin->calls_->version, " of waggle_environment.h; wanted ",
                       WAGGLE_ENVIRONMENT_PLUGIN_VERSION));
    }
    const char* const told = plugin->calls_->describe(name.c_str(), options.c_str());
    if (told == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("environment.plugin: ", plugin->LastError()));
    }
    WAGGLE_ASSIGN_OR_RETURN(ExternalSpec spec, ParseExternalSpec(told, name));
    plugin->spec_ = std::move(spec.environment);
    return plugin;
  }
  ~Plugin() { dlclose(handle_); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const EnvironmentSpec& spec() const { return spec_; }
  const waggle_environment_calls& calls() const { return *calls_; }
  void* Create(uint64_t seed) const { return calls_->create(name_.c_str(), options_.c_str(), seed); }
  std::string LastError() const {
    const char* const error = calls_->last_error();
    return absl::StrCat(name_, ": ", error == nullptr ? "it does not say why" : error);
  }

 private:
  Plugin(void* handle, const std::string& name, const std::string& options)
      : handle_(handle), name_(name), options_(options) {}

  void* const handle_;
  const std::string name_;
  const std::string options_;
  const waggle_environment_calls* calls_ = nullptr;
  EnvironmentSpec spec_;
};

class PluginEnvironment final : public Environment {
 public:
  PluginEnvironment(std::shared_ptr<const Plugin> plugin, void* lane) : plugin_(std::move(plugin)), lane_(lane) {}
  ~PluginEnvironment() override { plugin_->calls().destroy(lane_); }

  const EnvironmentSpec& spec() const override { return plugin_->spec(); }

  absl::Status Reset(absl::Span<void* const> observations) override {
    running_ = plugin_->calls().reset(lane_, observations.data()) == 0;
    return running_ ? Check(observations) : absl::InternalError(plugin_->LastError());
  }

  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override {
    if (!running_) {
      return absl::FailedPreconditionError(
          absl::StrCat(spec().name, ": got a step after the episode's end; wanted a reset"));
    }
    int32_t end = WAGGLE_EPISODE_GOES_ON;
    if (plugin_->calls().step(lane_, actions.data(), observations.data(), rewards, &end) != 0) {
      return absl::InternalError(plugin_->LastError());
    }
    if (end < WAGGLE_EPISODE_GOES_ON || end > WAGGLE_EPISODE_TRUNCATED) {
      return absl::InternalError(absl::StrCat(spec().name, ": end: got ", end, "; wanted 0, 1 or 2"));
    }
    WAGGLE_RETURN_IF_ERROR(Check(observations));
    StepOutcome outcome;
    outcome.terminated = end == WAGGLE_EPISODE_TERMINATED;
    outcome.truncated = end == WAGGLE_EPISODE_TRUNCATED;
    running_ = end == WAGGLE_EPISODE_GOES_ON;
    return outcome;
  }

 private:
  absl::Status Check(absl::Span<void* const> observations) const {
    for (size_t leaf = 0; leaf < observations.size(); ++leaf) {
      const absl::Status right = CheckObservation(spec().observations[leaf], observations[leaf]);
      if (!right.ok()) {
        return absl::InternalError(absl::StrCat(spec().name, ": ", right.message()));
      }
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const Plugin> plugin_;
  void* const lane_;
  bool running_ = false;
};

}  // namespace

absl::StatusOr<EnvironmentDefinition> LoadEnvironmentPlugin(const std::string& library, const std::string& name,
                                                            const std::string& options) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<const Plugin> plugin, Plugin::Load(library, name, options));
  EnvironmentDefinition definition;
  definition.description = absl::StrCat(name, " of ", library);
  definition.spec = [plugin](const EnvironmentOptions&) { return plugin->spec(); };
  definition.create = [plugin](const EnvironmentOptions&,
                               uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    void* const lane = plugin->Create(seed);
    if (lane == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("environment.plugin: ", plugin->LastError()));
    }
    return std::make_unique<PluginEnvironment>(plugin, lane);
  };
  return definition;
}

}  // namespace waggle
