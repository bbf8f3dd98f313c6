#include "param_server/web/experiment_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "common/hub/summary/bottleneck.h"
#include "common/hub/summary/proto_json.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxWorkers = 500;
constexpr int kMaxEvaluations = 20;

Json NumbersJson(const google::protobuf::Map<std::string, double>& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : std::map<std::string, double>(numbers.begin(), numbers.end())) {
    json[name] = value;
  }
  return json;
}

Json WorkerJson(const v1::WorkerInfo& worker) {
  Json json = ProtoJson(worker, {"counters", "gauges", "rates"});
  const auto gauge = [&worker, &json](const char* name) {
    const auto found = worker.gauges().find(name);
    json[name] = found == worker.gauges().end() ? Json(nullptr) : Json(found->second);
  };
  gauge("waiting_fraction");
  gauge("resident_bytes");
  for (const char* const name : {"env_steps", "learner_steps", "items_inserted", "items_sampled", "gradients_pushed"}) {
    if (const auto rate = worker.rates().find(name); rate != worker.rates().end()) {
      json["rates"][name] = rate->second;
    }
  }
  return json;
}

}  // namespace

Json InfoJson(const v1::ExperimentInfo& info) {
  return ProtoJson(info, {"submitted_yaml", "effective_yaml"});
}

Json RunJson(const v1::ExperimentInfo& info, const v1::OverviewResponse& overview) {
  const LoopFigures loop = LoopOf(overview);
  Json json = InfoJson(info);
  json["bottleneck"] = BottleneckJson(FindBottleneck(loop));
  json["loop"] = LoopJson(loop);
  json["figures"] = NumbersJson(overview.figures());
  json["workers"] = Json::array();
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (json["workers"].size() < kMaxWorkers) {
      json["workers"].push_back(WorkerJson(worker));
    }
  }
  json["workers_in_all"] = overview.workers_size();
  json["evaluations"] = Json::array();
  for (int i = std::max(0, overview.evaluations_size() - kMaxEvaluations); i < overview.evaluations_size(); ++i) {
    json["evaluations"].push_back(ProtoJson(overview.evaluations(i)));
  }
  json["model_version"] = overview.has_model_version() ? ProtoJson(overview.model_version()) : Json(nullptr);
  json["model_bytes"] = overview.model_bytes();
  json["problems"] = Json::array();
  for (const auto& [what, why] :
       {std::pair<const char*, const std::string&>("weights are not all on the disk", overview.weights_unsaved()),
        {"progress is not on the disk", overview.progress_unsaved()},
        {"figures are not recorded", overview.figures_unrecorded()}}) {
    if (!why.empty()) {
      json["problems"].push_back(std::string(what) + ": " + why);
    }
  }
  return json;
}

Json MemberJson(const v1::PoolMember& member) {
  return ProtoJson(member);
}

Json EventsJson(const std::vector<ExperimentEvent>& events) {
  Json json = Json::array();
  for (const ExperimentEvent& event : events) {
    json.push_back({{"number", event.number}, {"at_us", absl::ToUnixMicros(event.at)}, {"text", event.text}});
  }
  return json;
}

}  // namespace waggle
