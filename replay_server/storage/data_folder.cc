#include "replay_server/storage/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/take_experiment.h"
#include "replay_server/table/disk_picture.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "db";
constexpr char kCheckpoints[] = "checkpoints";
constexpr char kDamaged[] = "damaged";
constexpr char kCuts[] = "cuts";
constexpr char kReturned[] = "restored";
constexpr char kReturning[] = "returning";
constexpr int kMostStarts = 3;
// Becomes the database once it is complete.
constexpr char kComing[] = "db.new";
// A copy of a cut's database, to read it: opening a database changes it.
constexpr char kCutCopy[] = "db.cut";
// The database that another has replaced.
constexpr char kReplaced[] = "db.old";
constexpr size_t kMostTokenBytes = 1000;

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

absl::Status WriteFormat(Database* database) {
  v1::StoredFormat format;
  format.set_version(kStorageFormat);
  rocksdb::WriteBatch batch;
  WAGGLE_RETURN_IF_ERROR(
      FromRocksDb(batch.Put(database->family(Database::Family::kMeta), kFormatKey, format.SerializeAsString())));
  return database->Write(&batch, /*sync=*/true);
}

std::string When(const SavedState& state) {
  return state.checkpoint_unix_seconds == 0
             ? "an unknown time"
             : absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(state.checkpoint_unix_seconds),
                                absl::UTCTimeZone());
}

// A missing database counts as damaged.
absl::StatusOr<std::pair<std::unique_ptr<Database>, SavedState>> OpenAndLoad(const std::string& path) {
  if (!Exists(path)) {
    return absl::DataLossError(absl::StrCat(path, " is missing"));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, Database::Open(path, /*create=*/false, nullptr));
  WAGGLE_ASSIGN_OR_RETURN(SavedState state, LoadSavedState(database.get()));
  return std::make_pair(std::move(database), std::move(state));
}

// Space for what RocksDB writes when it opens a database, beside its logs.
constexpr uint64_t kOpeningBytes = uint64_t{16} << 20;

// Opening a database writes its logs into tables before it deletes them.
uint64_t BytesToOpen(const std::string& database) {
  uint64_t bytes = kOpeningBytes;
  std::error_code error;
  for (fs::directory_iterator entry(database, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (const uintmax_t size = entry->file_size(gone); !gone && entry->path().extension() == ".log") {
      bytes += size;
    }
  }
  return bytes;
}

// Explains that a database could not be opened because the disk is full.
absl::Status WithoutRoom(const absl::Status& failure, const std::string& folder, const std::string& database) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return absl::ResourceExhaustedError(
      absl::StrCat("there is no room in ", folder, " to open what is kept there: that takes up to ",
                   BytesToOpen(database), " bytes", error ? "" : absl::StrCat(", and the disk has ", space.available),
                   ". Nothing is lost: make room, or raise the limit, and start the server again. The disk says: ",
                   failure.message()));
}

}  // namespace

absl::StatusOr<DataFolder::Opened> DataFolder::Open(const DataFolderOptions& options) {
  std::unique_ptr<DataFolder> folder(new DataFolder(options));
  WAGGLE_ASSIGN_OR_RETURN(folder->lock_, LockFolder(options.path, "LOCK", "the folder is another replay server's"));
  WAGGLE_ASSIGN_OR_RETURN(folder->commits_, CommitRing::Open(folder->Path("commits")));
  WAGGLE_RETURN_IF_ERROR(CreateFolders(folder->Path(kCheckpoints)));
  WAGGLE_RETURN_IF_ERROR(folder->EndReturn());
  WAGGLE_RETURN_IF_ERROR(RemoveAll(folder->cold_path()));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<uint64_t> kept, folder->Numbers(kCheckpoints));
  if (!Exists(folder->Path(kDatabase)) && kept.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(folder->Create(), absl::StrCat("making ", folder->Path(kDatabase))));
  }
  Opened opened;
  std::optional<SavedState> state;
  for (const CutReturn& cut : options.return_to) {
    state.reset();  // It has all rows in memory.
    absl::StatusOr<SavedState> returned = folder->ReturnTo(cut, &opened.lost);
    if (returned.ok()) {
      state = *std::move(returned);
      continue;
    }
    LogError("experiment ", cut.experiment, " cannot go back to cut ", cut.number, ": ", returned.status().message());
    opened.failed.push_back({cut, returned.status()});
    WAGGLE_RETURN_IF_ERROR(folder->EndReturn());
  }
  DataFolder* const here = folder.get();
  return here->Load(std::move(folder), std::move(state), std::move(opened));
}

absl::StatusOr<DataFolder::Opened> DataFolder::Load(std::unique_ptr<DataFolder> self, std::optional<SavedState> state,
                                                    Opened opened) {
  const std::string path = Path(kDatabase);
  bool damaged = false;
  if (state.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(opened.database, Database::Open(path, /*create=*/false, nullptr));
    opened.state = *std::move(state);
  } else {
    auto loaded = OpenAndLoad(path);
    damaged = absl::IsDataLoss(loaded.status());
    if (damaged) {
      WAGGLE_RETURN_IF_ERROR(FallBack(loaded.status(), &opened.state));
      WAGGLE_ASSIGN_OR_RETURN(opened.database, Database::Open(path, /*create=*/false, nullptr));
    } else {
      if (LacksRoom(loaded.status())) {
        return WithoutRoom(loaded.status(), absolute_path(), path);
      }
      WAGGLE_RETURN_IF_ERROR(Annotate(loaded.status(), path));
      opened.database = std::move(loaded->first);
      opened.state = std::move(loaded->second);
    }
  }
  NoteLost(opened.database->get()->GetLatestSequenceNumber(), damaged, &opened.lost);
  if (opened.state.format < kStorageFormat) {
    WAGGLE_RETURN_IF_ERROR(Annotate(WriteFormat(opened.database.get()), path));  // New records have this format.
  }
  opened.folder = std::move(self);
  return opened;
}

void DataFolder::NoteLost(uint64_t newest, bool damaged, CommitRing::Lost* lost) const {
  const CommitRing::Lost here = commits_->After(newest);
  commits_->Clear();
  lost->commits += here.commits;
  lost->items += here.items;
  if (here.commits > 0) {
    LogError("replay in ", Path(kDatabase), damaged ? " goes on from a checkpoint" : " lacks the end of its log",
             ": at least the last ", here.commits, " commits that were acknowledged, with ", here.items,
             " changed items, are lost",
             damaged ? " with the damaged database" : " after a power cut, or because a file was cut short");
  }
}

std::string DataFolder::absolute_path() const {
  std::error_code error;
  const fs::path path = fs::absolute(options_.path, error);
  return error ? options_.path : path.lexically_normal().string();
}

absl::Status DataFolder::Create() {
  std::error_code error;
  const fs::space_info space = fs::space(options_.path, error);
  if (!error && space.available < options_.least_free_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the disk has ", space.available,
                                                     " bytes left; a database is begun with at least ",
                                                     options_.least_free_bytes));
  }
  {
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                            Database::Open(Path(kComing), /*create=*/true, nullptr));
    WAGGLE_RETURN_IF_ERROR(WriteFormat(database.get()));
  }
  WAGGLE_RETURN_IF_ERROR(Rename(Path(kComing), Path(kDatabase)));
  return SyncFolder(options_.path);
}

absl::StatusOr<std::vector<uint64_t>> DataFolder::Numbers(const std::string& folder) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(Path(folder)));
  std::vector<uint64_t> numbers;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(name, &number)) {
      numbers.push_back(number);
    } else if (folder == kCheckpoints) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(absl::StrCat(folder, "/", name))));  // An unfinished copy.
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

absl::Status DataFolder::FallBack(const absl::Status& damage, SavedState* state) {
  LogError("replay in ", Path(kDatabase), " cannot be read: ", damage.message());
  WAGGLE_ASSIGN_OR_RETURN(std::vector<uint64_t> kept, Numbers(kCheckpoints));
  for (; !kept.empty(); kept.pop_back()) {
    const uint64_t number = kept.back();
    absl::Status status = CopyCheckpoint(number, kComing);
    if (status.ok()) {
      auto loaded = OpenAndLoad(Path(kComing));
      status = loaded.status();
      if (status.ok()) {
        *state = std::move(loaded->second);
      }
    }
    if (status.ok()) {
      const bool set_aside = Exists(Path(kDatabase));
      WAGGLE_RETURN_IF_ERROR(MoveAside(kDatabase));
      WAGGLE_RETURN_IF_ERROR(Rename(Path(kComing), Path(kDatabase)));
      WAGGLE_RETURN_IF_ERROR(SyncFolder(options_.path));
      LogError("replay goes on from checkpoint ", number, ", made at ", When(*state), ": everything since then is lost",
               set_aside ? absl::StrCat("; what could not be read is kept in ", Path(kDamaged)) : "");
      return absl::OkStatus();
    }
    LogError("checkpoint ", number, " cannot be used either: ", status.message());
    WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(kComing)));
    if (!absl::IsDataLoss(status)) {
      return Annotate(status, absl::StrCat("going back to checkpoint ", number));
    }
  }
  return absl::DataLossError(absl::StrCat(Path(kDatabase), ": ", damage.message(), "; and no checkpoint in ",
                                          Path(kCheckpoints), " can be used instead. Move the folder ", options_.path,
                                          " away to begin with empty tables"));
}

absl::Status DataFolder::MoveAside(const std::string& name) {
  if (!Exists(Path(name))) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(CreateFolders(Path(kDamaged)));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<uint64_t> there, Numbers(kDamaged));
  const uint64_t number = there.empty() ? 1 : there.back() + 1;
  return Rename(Path(name), Path(absl::StrCat(kDamaged, "/", number)));
}

absl::Status DataFolder::CopyCheckpoint(uint64_t number, const std::string& name) const {
  return CopyFolder(Path(absl::StrCat(kCheckpoints, "/", number)), Path(name));
}

absl::Status DataFolder::CopyFolder(const std::string& from, const std::string& to) const {
  WAGGLE_RETURN_IF_ERROR(RemoveAll(to));
  WAGGLE_RETURN_IF_ERROR(CreateFolder(to));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFolder(from));
  for (const std::string& file : files) {
    const fs::path source = fs::path(from) / file;
    const fs::path copy = fs::path(to) / file;
    std::error_code error;
    // These are never modified.
    if (source.extension() == ".sst" || source.extension() == ".blob") {
      fs::create_hard_link(source, copy, error);
    } else {
      fs::copy_file(source, copy, error);
    }
    if (error) {
      return FileError(error.value(), copy.string(), "copy");
    }
  }
  return SyncFolder(to);
}

absl::StatusOr<uint64_t> DataFolder::KeepCheckpoint(Database* database) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<uint64_t> there, Numbers(kCheckpoints));
  const uint64_t number = there.empty() ? 1 : there.back() + 1;
  const std::string path = Path(absl::StrCat(kCheckpoints, "/", number));
  WAGGLE_RETURN_IF_ERROR(Annotate(database->Copy(path), absl::StrCat("keeping checkpoint ", number)));
  for (size_t i = 0; i + static_cast<size_t>(options_.keep_checkpoints) <= there.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(absl::StrCat(kCheckpoints, "/", there[i]))));
  }
  return number;
}

std::string DataFolder::CutsOf(const std::string& experiment) const {
  return Path(absl::StrCat(kCuts, "/", experiment.empty() ? "-" : experiment));
}

absl::Status DataFolder::CheckCut(const CutRequest& cut) {
  if (!cut.experiment.empty() &&
      (!ValidateName(cut.experiment).ok() || absl::StrContains(cut.experiment, '/') || cut.experiment[0] == '.')) {
    return absl::InvalidArgumentError(absl::StrCat("experiment_id: got \"", absl::CHexEscape(cut.experiment),
                                                   "\"; wanted a name without / and without . at its beginning"));
  }
  return absl::OkStatus();
}

absl::Status DataFolder::KeepCut(Database* database, const CutRequest& cut) const {
  WAGGLE_RETURN_IF_ERROR(CheckCut(cut));
  const std::string cuts = CutsOf(cut.experiment);
  const std::string place = absl::StrCat(cuts, "/", cut.number);
  const std::string coming = absl::StrCat(cuts, "/coming");
  WAGGLE_RETURN_IF_ERROR(CreateFolders(cuts));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(coming));
  WAGGLE_RETURN_IF_ERROR(Annotate(database->Copy(coming), absl::StrCat("keeping cut ", cut.number)));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(place));
  WAGGLE_RETURN_IF_ERROR(Rename(coming, place));
  WAGGLE_RETURN_IF_ERROR(SyncFolder(cuts));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(cuts));
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(name, &number) && number != cut.number &&
        std::find(cut.kept.begin(), cut.kept.end(), number) == cut.kept.end()) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(absl::StrCat(cuts, "/", name)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DataFolder::ReturnToken(const std::string& experiment) const {
  const absl::StatusOr<std::string> token =
      ReadSmallFile(absl::StrCat(CutsOf(experiment), "/", kReturned), kMostTokenBytes);
  if (absl::IsNotFound(token.status())) {
    return std::string();
  }
  WAGGLE_RETURN_IF_ERROR(token.status());
  return std::string(absl::StripTrailingAsciiWhitespace(*token));
}

absl::Status DataFolder::EndReturn() const {
  if (!Exists(Path(kDatabase)) && Exists(Path(kReplaced))) {  // The other one could not take its place.
    WAGGLE_RETURN_IF_ERROR(Rename(Path(kReplaced), Path(kDatabase)));
    WAGGLE_RETURN_IF_ERROR(SyncFolder(options_.path));
  }
  for (const char* const name : {kComing, kCutCopy, kReplaced}) {
    WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(name)));
  }
  return absl::OkStatus();
}

absl::Status DataFolder::FindCut(const CutReturn& cut) const {
  const std::string path = absl::StrCat(CutsOf(cut.experiment), "/", cut.number);
  return Exists(path) ? absl::OkStatus()
                      : absl::NotFoundError(absl::StrCat("cut ", cut.number, " of experiment ", cut.experiment,
                                                         " is missing: ", path, " does not exist"));
}

// Without a limit, a return for which there is not enough memory would end the process each time it starts.
absl::Status DataFolder::CountStart(const CutReturn& cut) const {
  const std::string path = absl::StrCat(CutsOf(cut.experiment), "/", kReturning);
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMostTokenBytes);
  int starts = 0;
  if (text.ok()) {
    const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripTrailingAsciiWhitespace(*text), ' ');
    if (parts.size() != 2 || parts[0] != cut.token || !absl::SimpleAtoi(parts[1], &starts)) {
      starts = 0;  // Another return's.
    }
  } else if (!absl::IsNotFound(text.status())) {
    return text.status();
  }
  if (starts >= kMostStarts) {
    return absl::AbortedError(absl::StrCat("the server ended ", starts, " times while it went back to cut ", cut.number,
                                           ": there may be too little memory for its tables and all others"));
  }
  return WriteFileAtomically(path, absl::StrCat(cut.token, " ", starts + 1, "\n"));
}

// A crash before the token is written leaves a return that is asked for again.
absl::StatusOr<SavedState> DataFolder::ReturnTo(const CutReturn& cut, CommitRing::Lost* lost) const {
  WAGGLE_RETURN_IF_ERROR(FindCut(cut));
  WAGGLE_RETURN_IF_ERROR(CountStart(cut));
  const std::string cuts = CutsOf(cut.experiment);
  absl::StatusOr<SavedState> state = MergeCut(absl::StrCat(cuts, "/", cut.number), cut.experiment, lost);
  WAGGLE_RETURN_IF_ERROR(RemoveAll(absl::StrCat(cuts, "/", kReturning)));
  WAGGLE_RETURN_IF_ERROR(state.status());
  WAGGLE_RETURN_IF_ERROR(Rename(Path(kDatabase), Path(kReplaced)));
  WAGGLE_RETURN_IF_ERROR(Rename(Path(kComing), Path(kDatabase)));
  WAGGLE_RETURN_IF_ERROR(SyncFolder(options_.path));
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(cuts, "/", kReturned), cut.token + "\n"));
  LogInfo("the tables of experiment ", cut.experiment, " go back to cut ", cut.number);
  if (const absl::Status removed = RemoveAll(Path(kReplaced)); !removed.ok()) {
    LogWarning("the next start removes the database of before: ", removed.message());
  }
  return state;
}

absl::StatusOr<SavedState> DataFolder::MergeCut(const std::string& from, const std::string& experiment,
                                                CommitRing::Lost* lost) const {
  const std::string going = absl::StrCat("going back to ", from);
  WAGGLE_RETURN_IF_ERROR(CopyFolder(Path(kDatabase), Path(kComing)));
  WAGGLE_RETURN_IF_ERROR(CopyFolder(from, Path(kCutCopy)));
  {
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> coming,
                            Database::Open(Path(kComing), /*create=*/false, nullptr));
    NoteLost(coming->get()->GetLatestSequenceNumber(), /*damaged=*/false, lost);
    absl::StatusOr<std::unique_ptr<Database>> past = Database::Open(Path(kCutCopy), /*create=*/false, nullptr);
    WAGGLE_RETURN_IF_ERROR(Annotate(past.status(), going));
    WAGGLE_RETURN_IF_ERROR(Annotate(TakeExperiment(experiment, past->get(), coming.get()), going));
  }
  WAGGLE_RETURN_IF_ERROR(RemoveAll(Path(kCutCopy)));
  auto loaded = OpenAndLoad(Path(kComing));  // Rows may be damaged.
  WAGGLE_RETURN_IF_ERROR(Annotate(loaded.status(), going));
  return std::move(loaded->second);
}

}  // namespace waggle
