#include "common/checkpoint/checkpoint_store.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::string_view kPrefix = "step-";
constexpr absl::string_view kReplacedSuffix = ".replaced";
constexpr absl::string_view kTemporaryPrefix = "tmp-";
constexpr absl::string_view kDataFile = "data.bin";
constexpr absl::string_view kManifestFile = "MANIFEST";
constexpr absl::string_view kLockFile = "LOCK";
constexpr size_t kTemporaryDigits = 16;

std::string NameOf(int64_t step) {
  return absl::StrFormat("%s%012d", kPrefix, step);
}

// Not one that is left from before: removing that may have failed.
std::string TemporaryName() {
  std::random_device device;
  const uint64_t number = (static_cast<uint64_t>(device()) << 32) | device();
  return absl::StrCat(kTemporaryPrefix, absl::Hex(number, absl::kZeroPad16));
}

bool IsTemporary(absl::string_view name) {
  return absl::ConsumePrefix(&name, kTemporaryPrefix) && name.size() == kTemporaryDigits &&
         name.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// Empty where it does not say.
std::string RunOf(const std::map<std::string, std::string>& texts) {
  const auto it = texts.find(kCheckpointRun);
  return it == texts.end() ? std::string() : it->second;
}

// 0 where it does not say.
uint64_t EpochOf(const std::map<std::string, std::string>& texts) {
  const auto it = texts.find(kCheckpointEpoch);
  uint64_t epoch = 0;
  return it != texts.end() && absl::SimpleAtoi(it->second, &epoch) ? epoch : 0;
}

// Hashes what passes through it.
class Checksum {
 public:
  Checksum() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void Add(const char* bytes, size_t size) { XXH3_64bits_update(state_.get(), bytes, size); }
  uint64_t Value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

absl::Status ValidateContents(const CheckpointContents& contents) {
  if (contents.step < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint's step is not negative; got ", contents.step));
  }
  for (const auto& [name, text] : contents.texts) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "a checkpoint's text"));
  }
  std::set<absl::string_view> names;
  for (const CheckpointArray& array : contents.arrays) {
    WAGGLE_RETURN_IF_ERROR(Annotate(array.spec.Validate(), "a checkpoint's array"));
    if (!names.insert(array.spec.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("a checkpoint has two arrays named ", array.spec.name));
    }
    if (static_cast<int64_t>(array.data.size()) != array.spec.NumBytes()) {
      return absl::InvalidArgumentError(absl::StrCat("a checkpoint's array ", array.spec.DebugString(), " has ",
                                                     array.data.size(), " bytes instead of ", array.spec.NumBytes()));
    }
  }
  return absl::OkStatus();
}

// The errors that say that one checkpoint is damaged. The others (permissions, memory) would hit its elders too, or are
// not to be passed over in silence.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> CheckpointStore::MakeFolder(const std::string& folder,
                                                                      FileSystem* file_system) {
  WAGGLE_RETURN_IF_ERROR(Annotate(file_system->CreateFolders(folder), "the checkpoint folder"));
  absl::StatusOr<std::unique_ptr<FileLock>> lock = file_system->LockFile(absl::StrCat(folder, "/", kLockFile));
  if (absl::IsUnavailable(lock.status())) {
    return absl::UnavailableError(
        absl::StrCat(folder, ": another process writes here; give each one a folder of its own"));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(lock.status(), "the checkpoint folder"));
  return lock;
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(const std::string& folder, int keep,
                                                                       FileSystem* file_system) {
  if (keep < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint store keeps at least 1 checkpoint; got ", keep));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, MakeFolder(folder, file_system));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system->ListFolder(folder));
  for (const std::string& name : names) {
    if (IsTemporary(name)) {
      WAGGLE_RETURN_IF_ERROR(file_system->RemoveAll(absl::StrCat(folder, "/", name)));
      LogInfo("removed ", folder, "/", name, ", which a checkpoint that was cut short left");
    }
  }
  return std::unique_ptr<CheckpointStore>(
      new CheckpointStore(folder, keep, file_system, /*writes=*/true, std::move(lock)));
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::OpenToRead(const std::string& folder,
                                                                             FileSystem* file_system) {
  WAGGLE_RETURN_IF_ERROR(Annotate(file_system->ListFolder(folder).status(), "the checkpoint folder"));
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(folder, 1, file_system, /*writes=*/false, nullptr));
}

absl::StatusOr<std::optional<int64_t>> CheckpointStore::NewestStep() const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListCandidates());
  return candidates.empty() ? std::nullopt : std::make_optional(candidates.front().step);
}

absl::Status CheckpointStore::Save(const CheckpointContents& contents) {
  if (!writes_) {
    return absl::FailedPreconditionError(absl::StrCat(folder_, " was opened to read its checkpoints only"));
  }
  WAGGLE_RETURN_IF_ERROR(ValidateContents(contents));
  const std::string temporary = Path(TemporaryName());
  absl::Status status = ClaimFolder();
  if (status.ok()) {
    status = WriteFiles(temporary, contents);
  }
  if (status.ok()) {
    status = MoveIntoPlace(temporary, contents.step);
  }
  if (!status.ok()) {
    // The disk may be full: give back what the failed attempt took.
    if (const absl::Status removed = file_system_->RemoveAll(temporary); !removed.ok()) {
      LogWarning("after a failed checkpoint: ", removed.message());
    }
    return Annotate(status, absl::StrCat("checkpoint of step ", contents.step));
  }
  damaged_.erase(NameOf(contents.step));
  Prune(contents.step);
  return absl::OkStatus();
}

absl::Status CheckpointStore::ClaimFolder() {
  if (lock_ != nullptr && lock_->InPlace()) {
    return absl::OkStatus();
  }
  if (lock_ != nullptr) {
    LogWarning(folder_, " or the lock in it is gone; it is made again");
    lock_ = nullptr;
  }
  WAGGLE_ASSIGN_OR_RETURN(lock_, MakeFolder(folder_, file_system_));
  return absl::OkStatus();
}

absl::Status CheckpointStore::WriteFiles(const std::string& path, const CheckpointContents& contents) const {
  // 1. The data, synced. 2. The manifest, which makes it a checkpoint. 3. The folder that names both.
  WAGGLE_RETURN_IF_ERROR(file_system_->CreateFolder(path));
  Manifest manifest;
  manifest.step = contents.step;
  manifest.texts = contents.texts;
  WAGGLE_ASSIGN_OR_RETURN(manifest.entries, WriteData(path, contents, &manifest.data_bytes));
  const std::string bytes = FormatManifest(manifest);
  if (static_cast<int64_t>(bytes.size()) > kMaxManifestBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the manifest takes ", bytes.size(), " bytes; at most ",
                                                   kMaxManifestBytes, " are allowed: keep large state in arrays"));
  }
  WAGGLE_RETURN_IF_ERROR(WriteFile(absl::StrCat(path, "/", kManifestFile), bytes));
  return file_system_->SyncFolder(path);
}

absl::StatusOr<std::vector<ManifestEntry>> CheckpointStore::WriteData(const std::string& path,
                                                                      const CheckpointContents& contents,
                                                                      int64_t* data_bytes) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          file_system_->CreateFile(absl::StrCat(path, "/", kDataFile)));
  std::vector<ManifestEntry> entries;
  int64_t end = 0;
  for (const CheckpointArray& array : contents.arrays) {
    const int64_t offset = AlignedOffset(end);
    WAGGLE_RETURN_IF_ERROR(file->Append(std::string(static_cast<size_t>(offset - end), '\0')));
    Checksum checksum;
    for (const ByteSlice& slice : array.data.slices()) {
      checksum.Add(slice.data, slice.size);
      WAGGLE_RETURN_IF_ERROR(file->Append(absl::string_view(slice.data, slice.size)));
    }
    entries.push_back({array.spec, offset, checksum.Value()});
    end = offset + array.spec.NumBytes();
  }
  *data_bytes = end;
  WAGGLE_RETURN_IF_ERROR(file->Sync());
  WAGGLE_RETURN_IF_ERROR(file->Close());
  return entries;
}

absl::Status CheckpointStore::WriteFile(const std::string& path, absl::string_view bytes) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, file_system_->CreateFile(path));
  WAGGLE_RETURN_IF_ERROR(file->Append(bytes));
  WAGGLE_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::Status CheckpointStore::MoveIntoPlace(const std::string& written, int64_t step) const {
  const std::string name = NameOf(step);
  const std::string replaced = absl::StrCat(name, kReplacedSuffix);
  bool set_aside = false;
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListCandidates());
  for (const Candidate& candidate : candidates) {
    if (candidate.name != name) {
      continue;
    }
    if (damaged_.count(name) > 0 || IsDamage(ReadManifest(candidate).status())) {
      // Damaged, and soon to be replaced; one that was set aside before may be the better one and stays.
      WAGGLE_RETURN_IF_ERROR(Remove(name));
      continue;
    }
    // A folder cannot be renamed over another one. Between the two renames the old checkpoint is found under its
    // other name.
    WAGGLE_RETURN_IF_ERROR(Remove(replaced));
    WAGGLE_RETURN_IF_ERROR(file_system_->Rename(Path(name), Path(replaced)));
    set_aside = true;
  }
  absl::Status status = file_system_->Rename(written, Path(name));
  if (status.ok()) {
    status = file_system_->SyncFolder(folder_);
  } else if (set_aside) {
    // Best effort: the old checkpoint is found under either name.
    file_system_->Rename(Path(replaced), Path(name)).IgnoreError();
  }
  return status;
}

absl::Status CheckpointStore::RemoveLater(int64_t step) {
  if (!writes_) {
    return absl::FailedPreconditionError(absl::StrCat(folder_, " was opened to read its checkpoints only"));
  }
  WAGGLE_RETURN_IF_ERROR(ClaimFolder());
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListCandidates());
  for (const Candidate& candidate : candidates) {
    if (candidate.step > step) {
      WAGGLE_RETURN_IF_ERROR(Remove(candidate.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CheckpointContents>> CheckpointStore::LoadLatest() {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListByEpoch());
  std::vector<std::string> reasons;
  for (const Candidate& candidate : candidates) {
    absl::StatusOr<CheckpointContents> contents = Load(candidate);
    if (contents.ok()) {
      WAGGLE_RETURN_IF_ERROR(CheckOneRun(*contents, candidates));
      LogInfo("loaded checkpoint ", Path(candidate.name));
      return std::move(contents).value();
    }
    const absl::Status status = Annotate(contents.status(), absl::StrCat("checkpoint ", Path(candidate.name)));
    if (!IsDamage(status)) {
      return status;
    }
    LogWarning("passing over a damaged checkpoint: ", status.message());
    reasons.emplace_back(status.message());
    damaged_.insert(candidate.name);
  }
  if (!reasons.empty()) {
    return absl::DataLossError(absl::StrCat("no checkpoint is whole: ", absl::StrJoin(reasons, "; ")));
  }
  return std::nullopt;
}

absl::StatusOr<CheckpointContents> CheckpointStore::LoadStep(int64_t step) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListCandidates());
  absl::Status status = absl::NotFoundError(absl::StrCat("no checkpoint of step ", step, " in ", folder_));
  for (const Candidate& candidate : candidates) {
    if (candidate.step != step) {
      continue;
    }
    absl::StatusOr<CheckpointContents> contents = Load(candidate);
    if (contents.ok()) {
      return contents;
    }
    // Part of it is missing: that is damage too.
    const auto code = absl::IsNotFound(contents.status()) ? absl::StatusCode::kDataLoss : contents.status().code();
    status =
        Annotate(absl::Status(code, contents.status().message()), absl::StrCat("checkpoint ", Path(candidate.name)));
  }
  return status;
}

absl::Status CheckpointStore::CheckOneRun(const CheckpointContents& newest,
                                          const std::vector<Candidate>& candidates) const {
  const std::string run = RunOf(newest.texts);
  for (const Candidate& candidate : candidates) {
    const absl::StatusOr<Manifest> manifest = ReadManifest(candidate);
    if (manifest.ok() && RunOf(manifest->texts) != run) {
      return absl::FailedPreconditionError(absl::StrCat(folder_, " holds checkpoints of several runs: step ",
                                                        newest.step, " is of ", run, ", step ", candidate.step, " of ",
                                                        RunOf(manifest->texts), "; move those of one away"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointStore::Candidate>> CheckpointStore::ListCandidates() const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system_->ListFolder(folder_));
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    absl::string_view rest = name;
    Candidate candidate;
    candidate.name = name;
    candidate.replaced = absl::ConsumeSuffix(&rest, kReplacedSuffix);
    const absl::string_view base = rest;
    if (absl::ConsumePrefix(&rest, kPrefix) && absl::SimpleAtoi(rest, &candidate.step) && candidate.step >= 0 &&
        base == NameOf(candidate.step)) {
      candidates.push_back(std::move(candidate));
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.step != b.step ? a.step > b.step : a.replaced < b.replaced;
  });
  return candidates;
}

absl::StatusOr<std::vector<CheckpointStore::Candidate>> CheckpointStore::ListByEpoch() const {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, ListCandidates());
  std::map<std::string, uint64_t> epochs;
  uint64_t highest = 0;
  for (const Candidate& candidate : candidates) {
    const absl::StatusOr<Manifest> manifest = ReadManifest(candidate);
    if (manifest.ok()) {
      const uint64_t epoch = epochs[candidate.name] = EpochOf(manifest->texts);
      highest = std::max(highest, epoch);
    } else if (!IsDamage(manifest.status()) && !absl::IsFailedPrecondition(manifest.status())) {
      return Annotate(manifest.status(), absl::StrCat("checkpoint ", Path(candidate.name)));
    }
  }
  // One that is damaged or a newer Waggle's may be the newest: it is not to be passed over in silence.
  const auto epoch_of = [&](const Candidate& candidate) {
    const auto it = epochs.find(candidate.name);
    return it == epochs.end() ? highest : it->second;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return epoch_of(a) > epoch_of(b); });
  return candidates;
}

absl::StatusOr<Manifest> CheckpointStore::ReadManifest(const Candidate& candidate) const {
  const std::string path = Path(candidate.name);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                          file_system_->OpenFile(absl::StrCat(path, "/", kManifestFile)));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t size, file->Size());
  if (size > kMaxManifestBytes) {
    return absl::DataLossError(
        absl::StrCat("the manifest has ", size, " bytes; at most ", kMaxManifestBytes, " are allowed"));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  WAGGLE_RETURN_IF_ERROR(file->Read(bytes.data(), size));
  WAGGLE_ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(bytes));
  if (manifest.step != candidate.step) {
    return absl::DataLossError(absl::StrCat("the manifest is that of step ", manifest.step));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> data,
                          file_system_->OpenFile(absl::StrCat(path, "/", kDataFile)));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t data_bytes, data->Size());
  if (data_bytes != manifest.data_bytes) {
    return absl::DataLossError(
        absl::StrCat(kDataFile, " has ", data_bytes, " bytes; the manifest says ", manifest.data_bytes));
  }
  return manifest;
}

absl::StatusOr<CheckpointContents> CheckpointStore::Load(const Candidate& candidate) const {
  WAGGLE_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(candidate));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                          file_system_->OpenFile(absl::StrCat(Path(candidate.name), "/", kDataFile)));
  CheckpointContents contents;
  contents.step = manifest.step;
  contents.texts = std::move(manifest.texts);
  int64_t end = 0;
  for (ManifestEntry& entry : manifest.entries) {
    char padding[64];
    WAGGLE_RETURN_IF_ERROR(file->Read(padding, entry.offset - end));
    const int64_t size = entry.spec.NumBytes();
    std::shared_ptr<char> bytes;
    try {
      bytes = AllocateBytes(static_cast<size_t>(size));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", entry.spec.DebugString(), ", which takes ", size, " bytes"));
    }
    WAGGLE_RETURN_IF_ERROR(file->Read(bytes.get(), size));
    if (XXH3_64bits(bytes.get(), static_cast<size_t>(size)) != entry.checksum) {
      return absl::DataLossError(absl::StrCat("the data of ", entry.spec.DebugString(), " is damaged"));
    }
    const char* const address = bytes.get();
    ByteSlices data(ByteSlice{address, static_cast<size_t>(size), std::move(bytes)});
    contents.arrays.push_back({std::move(entry.spec), std::move(data)});
    end = entry.offset + size;
  }
  return contents;
}

void CheckpointStore::Prune(int64_t saved_step) const {
  const absl::StatusOr<std::vector<Candidate>> candidates = ListCandidates();
  absl::Status status = candidates.status();
  int whole = 0;
  int64_t last_whole_step = -1;
  for (size_t i = 0; status.ok() && i < candidates->size(); ++i) {
    const Candidate& candidate = (*candidates)[i];
    if (candidate.step > saved_step) {
      // Of a run that went further: it is damaged and was passed over, or another learner's. Either way it must
      // neither go nor count.
      continue;
    }
    // A damaged one does not count: it must not push out one that can be loaded.
    if (whole >= keep_ || candidate.step == last_whole_step) {
      status = Remove(candidate.name);
    } else if (damaged_.count(candidate.name) == 0 && ReadManifest(candidate).ok()) {
      ++whole;
      last_whole_step = candidate.step;
    }
  }
  if (!status.ok()) {
    LogWarning("cannot remove old checkpoints in ", folder_, ": ", status.message());
  }
}

absl::Status CheckpointStore::Remove(const std::string& name) const {
  const std::string temporary = Path(TemporaryName());
  if (const absl::Status status = file_system_->Rename(Path(name), temporary); !status.ok()) {
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }
  return file_system_->RemoveAll(temporary);
}

std::string CheckpointStore::Path(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

}  // namespace waggle
