#include "cli/results/fetch.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/experiments/experiment_client.h"
#include "cli/experiments/experiment_report.h"
#include "cli/human_text.h"
#include "cli/results/draft_folder.h"
#include "cli/results/result_client.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
constexpr char kEvents[] = "events.jsonl";
// Names the experiment of a folder that was fetched.
constexpr char kRecord[] = "fetched.json";
constexpr size_t kLongestRecord = size_t{1} << 20;
// A running experiment replaces its weights now and then.
constexpr int kMostListings = 10;

std::string WithoutLastSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

// The id of the experiment whose files an earlier fetch has put here; empty if none has.
std::string FetchedIn(const std::string& folder) {
  const std::string text = ReadSmallFile(absl::StrCat(folder, "/", kRecord), kLongestRecord).value_or("");
  const Json record = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return record.is_object() && record.contains("id") && record["id"].is_string() ? record["id"].get<std::string>() : "";
}

absl::Status CheckFree(const std::string& folder, const std::string& id) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder, error))) {
    return absl::OkStatus();
  }
  if (std::filesystem::is_directory(folder, error) &&
      (std::filesystem::is_empty(folder, error) || FetchedIn(folder) == id)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(folder, " is there already; wanted a new folder, or one with earlier files of ", id));
}

// Copies the files of a listing. Those that are there in the listed form already are left. NOT_FOUND or ABORTED if the
// listing is not true any more.
absl::Status CopyFiles(const ResultClient& client, const FetchOptions& options, const v1::ListResultsResponse& listing,
                       const DraftFolder& draft, std::map<std::string, uint64_t>* copied, const StopToken& stop) {
  for (auto old = copied->begin(); old != copied->end();) {
    bool stays = false;
    for (const v1::ResultFile& file : listing.files()) {
      stays = stays || (file.name() == old->first && file.identity() == old->second);
    }
    if (stays) {
      ++old;
      continue;
    }
    WAGGLE_RETURN_IF_ERROR(RemoveAll(draft.File(old->first)));
    old = copied->erase(old);
  }
  for (const v1::ResultFile& file : listing.files()) {
    if (copied->count(file.name()) > 0) {
      continue;
    }
    const std::string path = draft.File(file.name());
    WAGGLE_RETURN_IF_ERROR(CreateFolders(ParentFolder(path)));
    if (absl::Status fetched = client.Fetch(options.id, file, path, options.patience, stop); !fetched.ok()) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(path));
      return fetched;
    }
    (*copied)[file.name()] = file.identity();
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ListResultsResponse> CopyResults(const FetchOptions& options, const DraftFolder& draft,
                                                    const StopToken& stop) {
  const ResultClient client(options.param_server);
  std::map<std::string, uint64_t> copied;
  for (int i = 1;; ++i) {
    WAGGLE_ASSIGN_OR_RETURN(v1::ListResultsResponse listing, client.List(options.id, stop));
    const absl::Status done = CopyFiles(client, options, listing, draft, &copied, stop);
    if (done.ok()) {
      return listing;
    }
    if ((!absl::IsNotFound(done) && !absl::IsAborted(done)) || i == kMostListings) {
      return done;
    }
  }
}

absl::Status CopyEvents(const ExperimentClient& client, const std::string& id, const DraftFolder& draft,
                        const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::Create(draft.File(kEvents)));
  v1::EventsRequest request;
  request.set_id(id);
  v1::EventsResponse response;
  do {
    WAGGLE_ASSIGN_OR_RETURN(response, client.Ask(&v1::ExperimentService::Stub::Events, request, kAnswerTimeout, stop));
    for (const v1::ExperimentEvent& event : response.events()) {
      WAGGLE_RETURN_IF_ERROR(file.Append(EventJsonLine(event)));
      request.set_after(event.number());
    }
  } while (!response.events().empty());
  return absl::OkStatus();
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* StateName(v1::RunState state) {
  const absl::StatusOr<RunState> known = FromProto(state);
  return known.ok() ? RunStateName(*known) : "unknown";
}

Json FetchedJson(const FetchedRun& run) {
  Json json;
  json["id"] = run.id;
  json["state"] = StateName(run.state);
  json["files"] = run.files;
  json["missing"] = run.missing;
  json["bytes"] = run.bytes;
  json["settings"] = Json::object();
  for (const auto& [key, value] : run.settings) {
    json["settings"][key] = value;
  }
  return json;
}

std::string FetchedText(const FetchedRun& run) {
  std::string text =
      absl::StrCat(run.id, " (", StateName(run.state), ") is in ", run.folder, ": ", absl::StrJoin(run.files, ", "),
                   "; ", ShortBytes(static_cast<double>(run.bytes)), "\n");
  if (!run.missing.empty()) {
    absl::StrAppend(&text, "not there", IsOver(FromProto(run.state).value_or(RunState::kNoExperiment)) ? "" : " yet",
                    ": ", Printable(absl::StrJoin(run.missing, ", ")), "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<FetchedRun> FetchRun(const FetchOptions& options, const StopToken& stop) {
  FetchedRun run;
  run.id = options.id;
  run.folder = WithoutLastSlash(options.folder);
  const ExperimentClient client(options.param_server);
  // Asked for before the listing: an experiment that was over then has all its files.
  WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, client.Get(options.id, kAnswerTimeout, stop));
  run.state = info.state();
  for (const std::string& setting : info.settings()) {
    run.settings.push_back(absl::StrSplit(setting, absl::MaxSplits('=', 1)));
  }
  WAGGLE_RETURN_IF_ERROR(CheckFree(run.folder, options.id));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<DraftFolder> draft, DraftFolder::Create(run.folder));
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListResultsResponse listing, CopyResults(options, *draft, stop));
  if (listing.files().empty()) {
    return absl::FailedPreconditionError(absl::StrCat("experiment ", options.id, " is ", StateName(run.state),
                                                      " and has no files", info.reason().empty() ? "" : ": ",
                                                      info.reason()));
  }
  WAGGLE_RETURN_IF_ERROR(CopyEvents(client, options.id, *draft, stop));
  for (const v1::ResultFile& file : listing.files()) {
    run.files.push_back(file.name());
    run.bytes += static_cast<int64_t>(file.size());
  }
  run.files.emplace_back(kEvents);
  run.missing.assign(listing.missing().begin(), listing.missing().end());
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(draft->File(kRecord), Dump(FetchedJson(run))));
  WAGGLE_RETURN_IF_ERROR(CheckFree(run.folder, options.id));
  WAGGLE_RETURN_IF_ERROR(draft->Finish());
  return run;
}

absl::StatusOr<FetchedGroup> FetchAll(const std::string& param_server, const std::vector<std::string>& ids,
                                      const std::string& folder, const StopToken& stop) {
  FetchedGroup group;
  absl::Status last;
  for (const std::string& id : ids) {
    FetchOptions options;
    options.param_server = param_server;
    options.id = id;
    options.folder = absl::StrCat(folder, "/", id);
    absl::StatusOr<FetchedRun> run = FetchRun(options, stop);
    if (run.ok()) {
      group.runs.push_back(*std::move(run));
    } else if (absl::IsFailedPrecondition(run.status())) {
      last = run.status();
      group.without_files.push_back(id);
    } else {
      return run.status();
    }
  }
  if (group.runs.empty()) {
    return last;
  }
  return group;
}

absl::StatusOr<std::string> Fetch(const FetchFlags& flags, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const v1::ResolveResponse found,
                          ExperimentClient(flags.param_server).Resolve(flags.id, kAnswerTimeout, stop));
  const std::string name = found.group().empty() ? found.ids(0) : found.group();
  const std::string folder = flags.folder.empty() ? name : WithoutLastSlash(flags.folder);
  FetchedGroup group;
  if (found.group().empty()) {
    FetchOptions options;
    options.param_server = flags.param_server;
    options.id = found.ids(0);
    options.folder = folder;
    WAGGLE_ASSIGN_OR_RETURN(FetchedRun run, FetchRun(options, stop));
    group.runs.push_back(std::move(run));
  } else {
    WAGGLE_ASSIGN_OR_RETURN(group,
                            FetchAll(flags.param_server, {found.ids().begin(), found.ids().end()}, folder, stop));
  }
  std::string text;
  Json members = Json::array();
  for (const FetchedRun& run : group.runs) {
    text += FetchedText(run);
    members.push_back(FetchedJson(run));
    members.back()["folder"] = run.folder;
  }
  if (!group.without_files.empty()) {
    absl::StrAppend(&text, "without files yet: ", absl::StrJoin(group.without_files, ", "), "\n");
  }
  if (!flags.json) {
    return text;
  }
  return Dump(found.group().empty()
                  ? members[0]
                  : Json{{"group", found.group()}, {"members", members}, {"without_files", group.without_files}});
}

}  // namespace waggle
