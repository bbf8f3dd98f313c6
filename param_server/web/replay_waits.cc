#include "param_server/web/replay_waits.h"

#include <algorithm>
#include <set>

#include "common/base/deadline.h"
#include "common/hub/summary/proto_json.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/table_names.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxKept = 32;
// Not on the connections for bulk data, which may be full.
constexpr char kPurpose[] = "web";
// Bounds of one answer.
constexpr int kMaxTables = 50;
constexpr int kMaxWaits = 20;

Json WaitJson(const v1::Wait& wait, const std::string& id) {
  Json json = ProtoJson(wait);
  json["why"] = WithPlainNames(wait.why(), id);
  return json;
}

Json TableJson(const v1::TableExplanation& table, const std::string& server, const std::string& id) {
  Json json = ProtoJson(
      table, {"config", "config_generation", "summary", "who_could", "waits", "remedies", "parties", "storage"});
  json["table"] = table.config().name();
  json["server"] = server;
  json["summary"] = WithPlainNames(table.summary(), id);
  json["who_could"] = WithPlainNames(table.who_could(), id);
  json["max_items"] = table.config().max_items();
  json["samples_per_insert"] = table.config().rate_limiter().samples_per_insert();
  json["waits"] = Json::array();
  for (int i = 0; i < std::min(table.waits_size(), kMaxWaits); ++i) {
    json["waits"].push_back(WaitJson(table.waits(i), id));
  }
  json["remedies"] = Json::array();
  for (const v1::Remedy& remedy : table.remedies()) {
    json["remedies"].push_back(ProtoJson(remedy));
  }
  return json;
}

std::set<std::string> ServersOf(const v1::OverviewResponse& overview) {
  std::set<std::string> servers;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      servers.insert(worker.address());
    }
  }
  return servers;
}

}  // namespace

ReplayWaits::ReplayWaits(absl::Duration timeout, absl::Duration keep) : timeout_(timeout), keep_(keep) {}

std::shared_ptr<ReplayWaits::Kept> ReplayWaits::Find(const std::string& experiment_id) {
  MutexLock lock(&mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == experiment_id; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    kept_.emplace_front(experiment_id, std::make_shared<Kept>());
    if (kept_.size() > kMaxKept) {
      kept_.pop_back();
    }
  }
  return kept_.front().second;
}

Json ReplayWaits::Ask(const std::string& experiment_id, const v1::OverviewResponse& overview) {
  const std::shared_ptr<Kept> kept = Find(experiment_id);
  MutexLock lock(&kept->mutex);
  if (SteadyNow() - kept->asked_at < keep_) {
    return kept->answer;
  }
  Json answer = {{"tables", Json::array()}, {"unanswered", Json::array()}};
  const Deadline deadline(timeout_);
  for (const std::string& server : ServersOf(overview)) {
    const auto stub = v1::ReplayService::NewStub(NewChannel(server, kPurpose));
    auto explained = CallUnary(stub.get(), &v1::ReplayService::Stub::Explain, v1::ExplainRequest(), deadline.Left());
    if (!explained.ok()) {
      answer["unanswered"].push_back({{"server", server}, {"error", std::string(explained.status().message())}});
      continue;
    }
    KeepTablesOf(experiment_id, &*explained);
    for (int i = 0; i < std::min(explained->tables_size(), kMaxTables); ++i) {
      answer["tables"].push_back(TableJson(explained->tables(i), server, experiment_id));
    }
  }
  kept->asked_at = SteadyNow();
  return kept->answer = answer;
}

}  // namespace waggle
