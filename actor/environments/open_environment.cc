#include "actor/environments/open_environment.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/external/process_environments.h"
#include "actor/environments/pictures/filmed_environment.h"
#include "actor/environments/plugin/environment_plugin.h"
#ifdef WAGGLE_WITH_GRPC
#include "actor/environments/rpc/open_rpc_environments.h"
#endif
#include "actor/environments/threaded_environments.h"
#include "actor/environments/transforms/apply_transforms.h"
#include "common/base/annotate.h"
#include "common/base/process/find_program.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

// The folder's name is UTF-8: see CheckVideo.
std::string VideoJson(const VideoOptions& video) {
  nlohmann::json json;
  json["folder"] = video.folder;
  json["episodes"] = video.episodes;
  return absl::StrCat(",\"video\":", json.dump(-1, ' ', /*ensure_ascii=*/true));
}

// The environment's options for the package. Ids have no character that JSON escapes, and the others are JSON.
std::string OptionsJson(const EnvironmentOptions& options, const std::optional<VideoOptions>& video) {
  if (options.Scheme() == kPettingZoo) {
    return absl::StrCat("{\"id\":\"", options.pettingzoo.id, "\",\"kwargs\":", options.pettingzoo.kwargs, "}");
  }
  const GymnasiumOptions& gymnasium = options.gymnasium;
  return absl::StrCat("{\"id\":\"", gymnasium.id, "\",\"kwargs\":", gymnasium.kwargs,
                      ",\"wrappers\":", gymnasium.wrappers, ",\"vector\":\"", gymnasium.vector, "\"",
                      video.has_value() ? VideoJson(*video) : "", "}");
}

absl::Status CheckVideo(const EnvironmentOptions& environment, const VideoOptions& video) {
  if (!environment.is_built_in() && environment.Scheme() != kGymnasium) {
    return absl::InvalidArgumentError(absl::StrCat("--video: got an environment of ", environment.Scheme(),
                                                   ", which has no pictures; wanted one of ", kGymnasium,
                                                   " or a built-in one"));
  }
  if (environment.Scheme() == kGymnasium && !IsUtf8(video.folder)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--video: got ", AsUtf8(video.folder), "; wanted a folder whose name is UTF-8"));
  }
  return PrepareVideoFolder(video.folder);
}

absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenInPython(const EnvironmentOptions& environment,
                                                                const LaneOptions& lanes, Rng rng,
                                                                const StopToken& stop) {
  ProcessEnvironmentsOptions options;
  absl::StatusOr<std::string> python = FindProgram(environment.python);
  if (!python.ok()) {
    return Annotate(python.status(), "environment.python");
  }
  options.command = {*std::move(python), EnvironmentPackage()};
  options.scheme = environment.Scheme();
  options.options_json = OptionsJson(environment, lanes.video);
  options.environment_name = environment.name;
  options.lanes = lanes.lanes;
  options.processes = lanes.video.has_value() ? 1 : environment.processes;  // One process counts the episodes.
  options.in_order = lanes.in_order;
  options.restarts.max_failures = lanes.max_failures;
  options.seed = rng.Next();
  return ProcessEnvironments::Create(options, stop);
}

// Opens the environment without its transforms.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenUntransformed(const EnvironmentDefinitions& built_in,
                                                                     const EnvironmentOptions& options,
                                                                     const LaneOptions& lanes, Rng rng,
                                                                     const StopToken& stop) {
  if (lanes.video.has_value()) {
    WAGGLE_RETURN_IF_ERROR(CheckVideo(options, *lanes.video));
  }
  if (options.is_python()) {
    return OpenInPython(options, lanes, std::move(rng), stop);
  }
  if (options.Scheme() == kPlugin) {
    const PluginOptions& plugin = options.plugin;
    WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition definition,
                            LoadEnvironmentPlugin(plugin.library, plugin.name, plugin.options));
    return MakeLocalEnvironment(definition, options, lanes.lanes, std::move(rng), lanes.in_order);
  }
#ifdef WAGGLE_WITH_GRPC
  if (options.Scheme() == kDmEnvRpc) {
    return OpenRpcEnvironments(options.dm_env_rpc, lanes.lanes, lanes.in_order, std::move(rng), stop);
  }
#endif
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition* const definition, built_in.Find(options.name));
  return MakeLocalEnvironment(lanes.video.has_value() ? Filmed(*definition, *lanes.video) : *definition, options,
                              lanes.lanes, std::move(rng), lanes.in_order);
}

}  // namespace

std::string EnvironmentPackage() {
  return absl::StrCat(OwnFolder(), "/../share/waggle/environment");
}

std::vector<std::string> OfferedEnvironments(const EnvironmentDefinitions& built_in) {
  std::vector<std::string> offered = built_in.Names();
  offered.insert(offered.end(), {kGymnasium, kPettingZoo, kPlugin});
#ifdef WAGGLE_WITH_GRPC
  offered.emplace_back(kDmEnvRpc);
#endif
  return offered;
}

absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenEnvironment(const EnvironmentDefinitions& built_in,
                                                                   const EnvironmentOptions& options,
                                                                   const LaneOptions& lanes, Rng rng,
                                                                   const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const bool starts_lanes,
                          TransformsStartLanes(options));  // Checked first, as opening may take long.
  EnvironmentOptions inner = options;
  if (starts_lanes && inner.gymnasium.vector == "auto") {
    inner.gymnasium.vector = "false";
  }
  Rng transforms_rng = Rng::Split(Rng(rng).Next(), "transforms", 0);
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<VectorEnvironment> environment,
                          OpenUntransformed(built_in, inner, lanes, std::move(rng), stop));
  return ApplyTransforms(std::move(environment), options, lanes.raw_rewards, std::move(transforms_rng));
}

}  // namespace waggle
