#include "param_server/run/cut_folder.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"
#include "param_server/run/hub_state.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kFacts[] = "cut";
constexpr char kRecord[] = "hub";
constexpr char kBest[] = "best";
// Beginnings of folders' names: a cut that is not complete yet, and one that is being removed.
constexpr char kComing[] = "coming-";
constexpr char kRemoved[] = "removed-";
constexpr char kRequested[] = "restore";
constexpr char kRestored[] = "restored";
constexpr char kMetrics[] = "metrics.csv";
constexpr char kMagic[] = "waggle cut 1 ";
constexpr size_t kMostBytes = size_t{16} << 20;

std::string Checked(const std::string& body) {
  return absl::StrCat(kMagic, absl::Hex(Checksum(body.data(), body.size()), absl::kZeroPad16), "\n", body);
}

// The file's text without its first line. DATA_LOSS if its checksum is wrong.
absl::StatusOr<std::string> ReadChecked(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostBytes));
  const size_t line = text.find('\n');
  const std::string body = line == std::string::npos ? "" : text.substr(line + 1);
  if (text != Checked(body)) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: its checksum is not that of its text"));
  }
  return body;
}

Json TurnsJson(const TurnState& state) {
  return {{"number", state.turn.number},
          {"role", static_cast<int>(state.turn.role)},
          {"items", state.turn.items},
          {"since_cut", state.turn.since_cut},
          {"recorded_at", state.recorded_at},
          {"evaluated_at", state.evaluated_at},
          {"cut_at", state.cut_at}};
}

struct SavedCut {
  CutFacts facts;
  std::optional<TurnState> turns;
  CounterSums counters;
  int64_t metrics_bytes = 0;
};

// Takes a whole number. False if there is none.
template <class T>
bool Take(const Json& json, const char* key, T* out) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) {
    return false;
  }
  *out = found->get<T>();
  return true;
}

bool TakeTurns(const Json& json, TurnState* state) {
  int role = 0;
  if (!json.is_object() || !Take(json, "number", &state->turn.number) || !Take(json, "role", &role) ||
      !Take(json, "items", &state->turn.items) || !Take(json, "since_cut", &state->turn.since_cut) ||
      !Take(json, "recorded_at", &state->recorded_at) || !Take(json, "evaluated_at", &state->evaluated_at) ||
      !Take(json, "cut_at", &state->cut_at)) {
    return false;
  }
  state->turn.role = static_cast<Role>(role);
  return true;
}

Json CountersJson(const CounterSums& counters) {
  Json json = Json::object();
  for (const auto& [role, sums] : counters) {
    json[RoleName(role)] = sums;
  }
  return json;
}

bool TakeCounters(const Json& json, CounterSums* counters) {
  if (!json.is_object()) {
    return false;
  }
  for (const Role role : {Role::kActor, Role::kLearner, Role::kEvaluator, Role::kReplayServer}) {
    const auto sums = json.find(RoleName(role));
    if (sums == json.end()) {
      continue;
    }
    for (const auto& [name, value] : sums->items()) {
      if (!value.is_number()) {
        return false;
      }
      (*counters)[role][name] = value.get<double>();
    }
  }
  return true;
}

absl::StatusOr<SavedCut> ReadCut(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadChecked(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  SavedCut cut;
  int64_t made_us = 0;
  bool whole = json.is_object() && Take(json, "number", &cut.facts.number) &&
               Take(json, "learner_steps", &cut.facts.learner_steps) && Take(json, "env_steps", &cut.facts.env_steps) &&
               Take(json, "made_at_us", &made_us) && Take(json, "metrics_bytes", &cut.metrics_bytes);
  if (whole && json.contains("turns")) {
    cut.turns.emplace();
    whole = TakeTurns(json["turns"], &*cut.turns) && json.contains("counters") &&
            TakeCounters(json["counters"], &cut.counters);
  }
  if (!whole) {
    return absl::DataLossError(absl::StrCat(path, " lacks facts of a cut"));
  }
  cut.facts.made = absl::FromUnixMicros(made_us);
  return cut;
}

absl::Status FailedTo(const char* what, const std::string& path, const std::error_code& error) {
  return FileError(error.value(), path, what);
}

// Makes hard links to all files of the weights' folders in `from`, without its lock.
absl::Status LinkWeights(const std::string& from, const std::string& to) {
  WAGGLE_RETURN_IF_ERROR(RemoveAll(to));
  WAGGLE_RETURN_IF_ERROR(CreateFolders(to));
  std::error_code error;
  if (!fs::exists(from, error)) {  // The run has no best weights yet.
    return error ? FailedTo("examine", from, error) : absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(from));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, "step-")) {
      fs::copy(fs::path(from) / name, fs::path(to) / name,
               fs::copy_options::recursive | fs::copy_options::create_hard_links, error);
      if (error) {
        return FailedTo("copy", absl::StrCat(from, "/", name), error);
      }
      WAGGLE_RETURN_IF_ERROR(SyncFolder(absl::StrCat(to, "/", name)));
    }
  }
  return SyncFolder(to);
}

// Numbered as the run's next life, so that workers get the lives and epochs that they had after the cut.
HubRecord BeforeRejoin(HubRecord record) {
  for (auto& [seat, lives] : record.lives) {
    lives -= lives > 0 ? 1 : 0;
  }
  record.last_epoch -= record.last_epoch > 0 ? 1 : 0;
  return record;
}

}  // namespace

absl::StatusOr<std::vector<CutFacts>> CutFolder::List() const {
  std::vector<CutFacts> cuts;
  std::error_code error;
  if (!fs::exists(options_.folder + "/cuts", error)) {
    return cuts;
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(options_.folder + "/cuts"));
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(name, &number)) {
      continue;
    }
    const absl::StatusOr<SavedCut> cut = ReadCut(Path(absl::StrCat(name, "/", kFacts)));
    if (cut.ok() && cut->facts.number == number) {
      cuts.push_back(cut->facts);
    } else if (!absl::IsNotFound(cut.status())) {  // It is not being removed just now.
      LogError("cut ", number, " cannot be used: ", cut.ok() ? "it has another number" : cut.status().message());
    }
  }
  std::sort(cuts.begin(), cuts.end(), [](const CutFacts& a, const CutFacts& b) { return a.number < b.number; });
  return cuts;
}

absl::Status CutFolder::Save(const CutFacts& facts, const std::optional<LockStep>& lock_step) const {
  const std::string name = absl::StrCat(facts.number);
  const std::string coming = Path(absl::StrCat(kComing, name));
  WAGGLE_RETURN_IF_ERROR(CreateFolders(options_.folder + "/cuts"));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(coming));
  WAGGLE_RETURN_IF_ERROR(CreateFolder(coming));
  Json json = {{"number", facts.number},
               {"learner_steps", facts.learner_steps},
               {"env_steps", facts.env_steps},
               {"made_at_us", absl::ToUnixMicros(facts.made)},
               {"metrics_bytes", 0}};
  if (lock_step.has_value()) {
    json["turns"] = TurnsJson(lock_step->turns);
    json["counters"] = CountersJson(lock_step->counters);
    std::error_code error;
    const uintmax_t bytes = fs::file_size(fs::path(options_.output_folder) / kMetrics, error);
    if (error && error != std::errc::no_such_file_or_directory) {
      return FailedTo("examine", absl::StrCat(options_.output_folder, "/", kMetrics), error);
    }
    json["metrics_bytes"] = error ? 0 : static_cast<int64_t>(bytes);
    WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(coming, "/", kRecord), lock_step->record));
    WAGGLE_RETURN_IF_ERROR(
        LinkWeights(absl::StrCat(options_.folder, "/", kBestModelFolder), absl::StrCat(coming, "/", kBest)));
  }
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(coming, "/", kFacts), Checked(json.dump(1) + "\n")));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(name)));
  WAGGLE_RETURN_IF_ERROR(Rename(coming, Path(name)));
  WAGGLE_RETURN_IF_ERROR(SyncFolder(options_.folder + "/cuts"));
  if (const absl::Status pruned = Prune(); !pruned.ok()) {  // The new cut is complete all the same.
    LogWarning("old cuts stay: ", pruned.message());
  }
  return absl::OkStatus();
}

absl::Status CutFolder::Prune() const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, List());
  for (size_t i = 0; i + static_cast<size_t>(options_.keep) < cuts.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(Remove(cuts[i].number));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(options_.folder + "/cuts"));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, kComing) || absl::StartsWith(name, kRemoved)) {  // A crash has left it.
      WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(name)));
    }
  }
  return absl::OkStatus();
}

absl::Status CutFolder::Remove(uint64_t cut) const {
  const std::string removed = Path(absl::StrCat(kRemoved, cut));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(removed));
  WAGGLE_RETURN_IF_ERROR(Rename(Path(absl::StrCat(cut)), removed));
  return RemoveAll(removed);
}

absl::Status CutFolder::RequestReturn(uint64_t cut) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, List());
  if (std::none_of(cuts.begin(), cuts.end(), [cut](const CutFacts& each) { return each.number == cut; })) {
    std::string there;
    for (const CutFacts& each : cuts) {
      absl::StrAppend(&there, there.empty() ? "" : ", ", each.number);
    }
    return absl::NotFoundError(
        absl::StrCat("cut: got ", cut, "; wanted ", there.empty() ? "none, because the run has no cuts" : there));
  }
  std::random_device random;
  const uint64_t token = (uint64_t{random()} << 32) | random();
  return WriteFileAtomically(Path(kRequested), absl::StrCat(cut, " ", absl::Hex(token, absl::kZeroPad16), "\n"));
}

bool CutFolder::IsReturnRequested() const {
  std::error_code ignored;
  return fs::exists(Path(kRequested), ignored);
}

absl::Status CutFolder::EndReturn() const {
  return Forget(kRequested);
}

absl::Status CutFolder::ForgetRestoration() const {
  return Forget(kRestored);
}

absl::Status CutFolder::Forget(const char* name) const {
  std::error_code error;
  if (!fs::exists(Path(name), error) && !error) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(name)));
  return SyncFolder(options_.folder + "/cuts");
}

absl::StatusOr<std::optional<Restoration>> CutFolder::restoration() const {
  const absl::StatusOr<std::string> text = ReadSmallFile(Path(kRestored), kMostBytes);
  if (absl::IsNotFound(text.status())) {
    return std::optional<Restoration>();
  }
  WAGGLE_RETURN_IF_ERROR(text.status());
  const std::vector<std::string> parts = absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  Restoration restoration;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &restoration.cut)) {
    return absl::DataLossError(absl::StrCat(Path(kRestored), " is damaged"));
  }
  restoration.token = parts[1];
  return std::make_optional(restoration);
}

absl::StatusOr<std::optional<TurnState>> CutFolder::Turns(uint64_t cut) const {
  WAGGLE_ASSIGN_OR_RETURN(const SavedCut saved, ReadCut(Path(absl::StrCat(cut, "/", kFacts))));
  return saved.turns;
}

absl::StatusOr<CounterSums> CutFolder::Counters(uint64_t cut) const {
  WAGGLE_ASSIGN_OR_RETURN(SavedCut saved, ReadCut(Path(absl::StrCat(cut, "/", kFacts))));
  return std::move(saved.counters);
}

absl::StatusOr<bool> CutFolder::ReturnIfRequested() const {
  const absl::StatusOr<std::string> text = ReadSmallFile(Path(kRequested), kMostBytes);
  if (absl::IsNotFound(text.status())) {
    return false;
  }
  WAGGLE_RETURN_IF_ERROR(text.status());
  uint64_t number = 0;
  const std::pair<std::string, std::string> parts = absl::StrSplit(*text, absl::MaxSplits(' ', 1));
  if (!absl::SimpleAtoi(parts.first, &number)) {
    return absl::DataLossError(absl::StrCat(Path(kRequested), " is damaged"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const SavedCut cut, ReadCut(Path(absl::StrCat(number, "/", kFacts))));
  WAGGLE_RETURN_IF_ERROR(RestoreCheckpoint(number));
  if (cut.turns.has_value()) {
    WAGGLE_RETURN_IF_ERROR(RestoreLockStep(number, cut.metrics_bytes));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, List());
  for (const CutFacts& each : cuts) {
    if (each.number > number) {
      WAGGLE_RETURN_IF_ERROR(Remove(each.number));
    }
  }
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(Path(kRestored), *text));
  LogInfo("the run goes back to cut ", number, ", of learner step ", cut.facts.learner_steps);
  return true;
}

absl::Status CutFolder::RestoreCheckpoint(uint64_t cut) const {
  const std::string from = absl::StrCat(options_.output_folder, "/cuts/", cut);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> source, CheckpointStore::OpenToRead(from));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<CheckpointContents> contents, source->LoadLatest());
  if (!contents.has_value()) {
    return absl::NotFoundError(absl::StrCat(from, " has no checkpoint of the learner"));
  }
  const std::string to = absl::StrCat(options_.output_folder, "/checkpoints");
  WAGGLE_RETURN_IF_ERROR(CreateFolders(to));
  // The learner removes surplus ones.
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store,
                          CheckpointStore::OpenToTakeOver(to, std::numeric_limits<int>::max()));
  // All of them: one of a later epoch would be preferred, though its step is earlier. The cut's copy stays.
  WAGGLE_RETURN_IF_ERROR(store->RemoveLater(-1));
  return store->Save(*contents);
}

absl::Status CutFolder::RestoreLockStep(uint64_t cut, int64_t metrics_bytes) const {
  const std::string folder = Path(absl::StrCat(cut));
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(absl::StrCat(folder, "/", kRecord), kMostBytes));
  absl::StatusOr<HubRecord> record = DecodeHubRecord(text);
  WAGGLE_RETURN_IF_ERROR(Annotate(record.status(), absl::StrCat(folder, "/", kRecord)));
  WAGGLE_RETURN_IF_ERROR(
      WriteFileAtomically(HubState::FileIn(options_.folder), EncodeHubRecord(BeforeRejoin(*std::move(record)))));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(absl::StrCat(options_.folder, "/", kNewestModelFolder)));
  WAGGLE_RETURN_IF_ERROR(
      LinkWeights(absl::StrCat(folder, "/", kBest), absl::StrCat(options_.folder, "/", kBestModelFolder)));
  const std::string metrics = absl::StrCat(options_.output_folder, "/", kMetrics);
  std::error_code error;
  const uintmax_t bytes = fs::file_size(metrics, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return FailedTo("examine", metrics, error);
  }
  if (!error && bytes > static_cast<uintmax_t>(metrics_bytes)) {
    fs::resize_file(metrics, static_cast<uintmax_t>(metrics_bytes), error);
    if (error) {
      return FailedTo("truncate", metrics, error);
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
