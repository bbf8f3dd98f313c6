#include "param_server/web/web_api.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub/ports/pool.h"
#include "common/hub/summary/proto_json.h"
#include "param_server/web/experiment_json.h"
#include "param_server/web/web_answer.h"
#include "param_server/web/web_guard.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxListed = 500;
constexpr int64_t kListed = 100;
// A search goes through so many experiments, a page of the host at a time.
constexpr int64_t kMostSearched = 10'000;
constexpr int64_t kSearchPage = 500;
constexpr size_t kMaxCurvesAsked = 32;
constexpr int64_t kNoPriority = std::numeric_limits<int64_t>::min();
constexpr size_t kMaxYaml = size_t{1} << 20;

std::string Parameter(const HttpRequest& request, const std::string& name) {
  const auto found = request.parameters.find(name);
  return found == request.parameters.end() ? "" : found->second;
}

// A number of the query; INVALID_ARGUMENT, saying what was wanted.
absl::StatusOr<int64_t> Number(const HttpRequest& request, const std::string& name, int64_t otherwise, int64_t least,
                               int64_t most) {
  const std::string text = Parameter(request, name);
  int64_t number = otherwise;
  if (!text.empty() && (!absl::SimpleAtoi(text, &number) || number < least || number > most)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": got \"", absl::CHexEscape(text.substr(0, 100)),
                                                   "\"; wanted a number from ", least, " to ", most));
  }
  return number;
}

absl::StatusOr<std::set<RunState>> States(const HttpRequest& request) {
  std::set<RunState> states;
  for (const absl::string_view word : absl::StrSplit(Parameter(request, "state"), ',', absl::SkipEmpty())) {
    std::optional<RunState> state;
    for (const RunState known : {RunState::kRunning, RunState::kSolved, RunState::kLimit, RunState::kFailed,
                                 RunState::kFinishing, RunState::kQueued, RunState::kStopped}) {
      if (word == RunStateName(known)) {
        state = known;
      }
    }
    if (!state.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("state: got \"", absl::CHexEscape(word.substr(0, 100)),
                                                     "\"; wanted running, finishing, queued, solved, limit, stopped or "
                                                     "failed"));
    }
    states.insert(*state);
  }
  return states;
}

// True if the text, in lower case, occurs in one of the experiment's names.
bool Matches(const v1::ExperimentInfo& info, const std::string& text) {
  const auto has = [&text](const std::string& name) { return absl::StrContains(absl::AsciiStrToLower(name), text); };
  return has(info.id()) || has(info.name()) || has(info.algorithm()) || has(info.environment()) || has(info.group()) ||
         has(info.owner()) || std::any_of(info.tags().begin(), info.tags().end(), has);
}

absl::StatusOr<Json> ExperimentsPage(const HttpRequest& request, WebSource* source) {
  WAGGLE_ASSIGN_OR_RETURN(const int64_t limit, Number(request, "limit", kListed, 1, kMaxListed));
  ExperimentQuery query;
  WAGGLE_ASSIGN_OR_RETURN(query.before, Number(request, "before", query.before, 0, query.before));
  WAGGLE_ASSIGN_OR_RETURN(query.states, States(request));
  query.name = Parameter(request, "name");
  query.group = Parameter(request, "group");
  query.owner = Parameter(request, "owner");
  if (const std::string tag = Parameter(request, "tag"); !tag.empty()) {
    query.tags.push_back(tag);
  }
  const std::string text = absl::AsciiStrToLower(Parameter(request, "text"));
  query.limit = text.empty() ? limit : kSearchPage;
  Json page = {{"experiments", Json::array()}, {"next", nullptr}};
  int64_t searched = 0;
  for (bool more = true; more && page["experiments"].size() < static_cast<size_t>(limit) && searched < kMostSearched;) {
    const v1::ListExperimentsResponse found = source->List(query);
    for (const v1::ExperimentInfo& info : found.experiments()) {
      if ((text.empty() || Matches(info, text)) && page["experiments"].size() < static_cast<size_t>(limit)) {
        page["experiments"].push_back(InfoJson(info));
      }
    }
    searched += found.experiments_size();
    more = absl::SimpleAtoi(found.next_page_token(), &query.before);
    page["next"] = more ? Json(found.next_page_token()) : Json(nullptr);
  }
  return page;
}

absl::StatusOr<Json> PoolPage(const HttpRequest& request, WebSource* source) {
  WAGGLE_ASSIGN_OR_RETURN(const int64_t limit, Number(request, "limit", kListed, 1, kMaxListed));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t offset, Number(request, "offset", 0, 0, 1'000'000));
  const std::vector<v1::PoolMember> members = source->Members();
  Json page = {{"software_version", kVersion}, {"in_all", members.size()}};
  Json& kinds = page["kinds"] = Json::object();
  Json& listed = page["members"] = Json::array();
  int64_t at = 0;
  for (const v1::PoolMember& member : members) {
    Json& kind = kinds[EnumName(*v1::WorkerKind_descriptor(), member.kind())];
    kind = (kind.is_null() ? 0 : kind.get<int64_t>()) + 1;
    if (at >= offset && at < offset + limit) {
      listed.push_back(MemberJson(member));
    }
    ++at;
  }
  return page;
}

// A number with six digits, which is enough to draw it.
Json Short(double number) {
  double rounded = 0;
  return absl::SimpleAtod(absl::StrFormat("%.6g", number), &rounded) ? Json(rounded) : Json(number);
}

Json CurveJson(const std::vector<Curve::Point>& points) {
  Json json;
  for (const char* const column : {"step", "seconds", "mean", "low", "high"}) {
    json[column] = Json::array();
  }
  for (const Curve::Point& point : points) {
    json["step"].push_back(static_cast<int64_t>(point.step));
    json["seconds"].push_back(Short(point.seconds));
    json["mean"].push_back(Short(point.mean));
    json["low"].push_back(Short(point.low));
    json["high"].push_back(Short(point.high));
  }
  return json;
}

absl::StatusOr<Json> ExperimentPart(const HttpRequest& request, const std::string& id, absl::string_view part,
                                    WebSource* source, ReplayWaits* waits) {
  if (part == "events") {
    WAGGLE_ASSIGN_OR_RETURN(const int64_t after, Number(request, "after", 0, 0, std::numeric_limits<int64_t>::max()));
    WAGGLE_ASSIGN_OR_RETURN(const auto events, source->Events(id, static_cast<uint64_t>(after)));
    return Json{{"events", EventsJson(events)}};
  }
  if (part == "yaml") {
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, source->Texts(id));
    return Json{{"submitted", texts.submitted_yaml.substr(0, kMaxYaml)},
                {"effective", texts.effective_yaml.substr(0, kMaxYaml)}};
  }
  WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, source->Get(id));
  WAGGLE_ASSIGN_OR_RETURN(const v1::OverviewResponse overview, source->Overview(id));
  if (part == "waits") {
    return info.ended_at_us() != 0 ? Json{{"tables", Json::array()}, {"unanswered", Json::array()}}
                                   : waits->Ask(id, overview);
  }
  return RunJson(info, overview);
}

}  // namespace

HttpResponse WebApi::Answer(const HttpRequest& request) {
  absl::string_view path = request.path;
  if (path == "/api/pool" || path == "/api/experiments") {
    if (request.method != "GET") {
      return WrongMethod(request, "GET, HEAD");
    }
    const absl::StatusOr<Json> page =
        path == "/api/pool" ? PoolPage(request, source_) : ExperimentsPage(request, source_);
    return page.ok() ? JsonAnswer(request, *page) : ErrorAnswer(page.status());
  }
  if (absl::ConsumePrefix(&path, "/api/experiments/")) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(path, absl::MaxSplits('/', 1));
    return OfExperiment(request, std::string(words.first), words.second);
  }
  return ErrorAnswer(404, "there is no such page of the API");
}

HttpResponse WebApi::OfExperiment(const HttpRequest& request, const std::string& id, absl::string_view part) {
  if (part == "stop" || part == "resume" || part == "priority") {
    return request.method == "POST" ? Change(request, id, part) : WrongMethod(request, "POST");
  }
  if (!part.empty() && part != "curves" && part != "events" && part != "yaml" && part != "waits") {
    return ErrorAnswer(404, "wanted curves, events, yaml, waits, stop, resume or priority of an experiment");
  }
  if (request.method != "GET") {
    return WrongMethod(request, "GET, HEAD");
  }
  if (part == "curves") {
    return Curves(request, id);
  }
  const absl::StatusOr<Json> json = ExperimentPart(request, id, part, source_, &waits_);
  return json.ok() ? JsonAnswer(request, *json) : ErrorAnswer(json.status());
}

HttpResponse WebApi::Curves(const HttpRequest& request, const std::string& id) {
  const std::vector<std::string> names = absl::StrSplit(Parameter(request, "names"), ',', absl::SkipEmpty());
  if (names.size() > kMaxCurvesAsked) {
    return ErrorAnswer(400, absl::StrCat("names: got ", names.size(), "; wanted at most ", kMaxCurvesAsked));
  }
  const absl::StatusOr<v1::ExperimentInfo> info = source_->Get(id);
  if (!info.ok()) {
    return ErrorAnswer(info.status());
  }
  const auto read = curves_.Read(info->output_folder(), {names.begin(), names.end()});
  if (!read.ok()) {
    return ErrorAnswer(read.status());
  }
  Json json = {{"complete", read->complete}, {"names", read->names}, {"curves", Json::object()}};
  for (const auto& [name, points] : read->curves) {
    json["curves"][name] = CurveJson(points);
  }
  return JsonAnswer(request, json);
}

HttpResponse WebApi::Change(const HttpRequest& request, const std::string& id, absl::string_view change) {
  if (const absl::Status may = CheckMayChange(request); !may.ok()) {
    return ErrorAnswer(may);
  }
  absl::StatusOr<int64_t> priority = int64_t{0};
  if (change == "priority") {
    priority = Number(request, "priority", kNoPriority, -kMaxExperimentPriority, kMaxExperimentPriority);
    if (!priority.ok() || *priority == kNoPriority) {
      return ErrorAnswer(priority.ok() ? absl::InvalidArgumentError("priority: got none; wanted a number")
                                       : priority.status());
    }
  }
  if (changing_.exchange(true)) {
    return ErrorAnswer(503, "another change is under way; try again");
  }
  const absl::Status changed = change == "stop"     ? source_->Stop(id)
                               : change == "resume" ? source_->Resume(id)
                                                    : source_->SetPriority(id, *priority);
  changing_ = false;
  if (!changed.ok()) {
    return ErrorAnswer(changed);
  }
  const absl::StatusOr<v1::ExperimentInfo> info = source_->Get(id);
  return info.ok() ? JsonAnswer(request, InfoJson(*info)) : ErrorAnswer(info.status());
}

}  // namespace waggle
