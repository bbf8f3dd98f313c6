#include "common/rl/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
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
constexpr absl::string_view kFile = "checkpoint.safetensors";
constexpr absl::string_view kFileBefore = "MANIFEST";  // Format 1.
constexpr absl::string_view kLockFile = "LOCK";
constexpr size_t kTemporaryDigits = 16;

std::string NameOf(int64_t step) {
  return absl::StrFormat("%s%012d", kPrefix, step);
}

// Random, because removing an older one may have failed.
std::string TemporaryName() {
  std::random_device device;
  const uint64_t number = (static_cast<uint64_t>(device()) << 32) | device();
  return absl::StrCat(kTemporaryPrefix, absl::Hex(number, absl::kZeroPad16));
}

bool IsTemporary(absl::string_view name) {
  return absl::ConsumePrefix(&name, kTemporaryPrefix) && name.size() == kTemporaryDigits &&
         name.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// Empty if unknown.
std::string RunOf(const std::map<std::string, std::string>& texts) {
  const auto it = texts.find(kCheckpointRun);
  return it == texts.end() ? std::string() : it->second;
}

// 0 if unknown.
uint64_t EpochOf(const std::map<std::string, std::string>& texts) {
  const auto it = texts.find(kCheckpointEpoch);
  uint64_t epoch = 0;
  return it != texts.end() && absl::SimpleAtoi(it->second, &epoch) ? epoch : 0;
}

// True if a checkpoint is damaged. Other errors (permissions, memory) affect earlier ones too or must not be ignored.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(const std::string& folder, int keep) {
  if (keep < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint store keeps at least 1 checkpoint; got ", keep));
  }
  std::unique_ptr<CheckpointStore> store(new CheckpointStore(folder, keep, /*writes=*/true));
  WAGGLE_RETURN_IF_ERROR(store->ClaimFolder());
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    if (IsTemporary(name)) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(store->Path(name)));
      LogInfo("removed ", store->Path(name), ", which a checkpoint that was cut short left");
    }
  }
  return store;
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::OpenToTakeOver(const std::string& folder, int keep) {
  if (keep < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint store keeps at least 1 checkpoint; got ", keep));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(ListFolder(folder).status(), "the checkpoint folder"));
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(folder, keep, /*writes=*/true));
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::OpenToRead(const std::string& folder) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ListFolder(folder).status(), "the checkpoint folder"));
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(folder, 1, /*writes=*/false));
}

absl::StatusOr<std::optional<int64_t>> CheckpointStore::NewestStep() const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ListCandidates());
  return candidates.empty() ? std::nullopt : std::make_optional(candidates.front().step);
}

absl::Status CheckpointStore::Save(const CheckpointContents& contents) {
  if (!writes_) {
    return absl::FailedPreconditionError(absl::StrCat(folder_, " was opened to read its checkpoints only"));
  }
  WAGGLE_RETURN_IF_ERROR(contents.Validate());
  const std::string temporary = Path(TemporaryName());
  absl::Status status = ClaimFolder();
  if (status.ok()) {
    status = WriteFolder(temporary, contents);
  }
  if (status.ok()) {
    status = MoveIntoPlace(temporary, contents.step);
  }
  if (!status.ok()) {
    // The disk may be full: frees the space of the failed attempt.
    if (const absl::Status removed = RemoveAll(temporary); !removed.ok()) {
      LogWarning("after a failed checkpoint: ", removed.message());
    }
    return Annotate(status, absl::StrCat("checkpoint of step ", contents.step));
  }
  damaged_.erase(NameOf(contents.step));
  Prune(contents.step);
  return absl::OkStatus();
}

absl::Status CheckpointStore::ClaimFolder() {
  if (lock_.is_open() && lock_.InPlace()) {
    return absl::OkStatus();
  }
  if (lock_.is_open()) {
    LogWarning(folder_, " or the lock in it is gone; it is made again");
    lock_ = File();
  }
  WAGGLE_ASSIGN_OR_RETURN(lock_, LockFolder(folder_, kLockFile, "another process writes here"));
  return absl::OkStatus();
}

absl::Status CheckpointStore::WriteFolder(const std::string& path, const CheckpointContents& contents) const {
  WAGGLE_RETURN_IF_ERROR(CreateFolder(path));
  WAGGLE_RETURN_IF_ERROR(WriteCheckpointFile(contents, absl::StrCat(path, "/", kFile)));
  return SyncFolder(path);
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
    if (damaged_.count(name) > 0 || IsDamage(ReadHeader(candidate).status())) {
      // It is damaged and will be replaced. One that was set aside may be intact and stays.
      WAGGLE_RETURN_IF_ERROR(Remove(name));
      continue;
    }
    // A folder cannot be renamed over another. Between the two renames the old checkpoint is found by its other name.
    WAGGLE_RETURN_IF_ERROR(Remove(replaced));
    WAGGLE_RETURN_IF_ERROR(Rename(Path(name), Path(replaced)));
    set_aside = true;
  }
  absl::Status status = Rename(written, Path(name));
  if (status.ok()) {
    status = SyncFolder(folder_);
  } else if (set_aside) {
    // Best effort: the old checkpoint is found by either name.
    Rename(Path(replaced), Path(name)).IgnoreError();
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
    // A missing part is damage too.
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
    const absl::StatusOr<CheckpointHeader> header = ReadHeader(candidate);
    if (header.ok() && RunOf(header->texts) != run) {
      return absl::FailedPreconditionError(absl::StrCat(folder_, " holds checkpoints of several runs: step ",
                                                        newest.step, " is of ", run, ", step ", candidate.step, " of ",
                                                        RunOf(header->texts), "; move those of one away"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointStore::Candidate>> CheckpointStore::ListCandidates() const {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder_));
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
    const absl::StatusOr<CheckpointHeader> header = ReadHeader(candidate);
    if (header.ok()) {
      const uint64_t epoch = epochs[candidate.name] = EpochOf(header->texts);
      highest = std::max(highest, epoch);
    } else if (!IsDamage(header.status()) && !absl::IsFailedPrecondition(header.status())) {
      return Annotate(header.status(), absl::StrCat("checkpoint ", Path(candidate.name)));
    }
  }
  // A damaged or newer Waggle's checkpoint may be the newest, so it must not be skipped.
  const auto epoch_of = [&](const Candidate& candidate) {
    const auto it = epochs.find(candidate.name);
    return it == epochs.end() ? highest : it->second;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return epoch_of(a) > epoch_of(b); });
  return candidates;
}

absl::StatusOr<CheckpointHeader> CheckpointStore::ReadHeader(const Candidate& candidate) const {
  const std::string path = Path(candidate.name);
  absl::StatusOr<CheckpointHeader> header = ReadCheckpointHeader(absl::StrCat(path, "/", kFile));
  if (absl::IsNotFound(header.status()) && File::OpenToRead(absl::StrCat(path, "/", kFileBefore)).ok()) {
    return absl::FailedPreconditionError(
        "it has format version 1, which this program no longer reads: use the Waggle that wrote it, or move it away");
  }
  if (header.ok() && header->step != candidate.step) {
    return absl::DataLossError(absl::StrCat("its file is that of step ", header->step));
  }
  return header;
}

absl::StatusOr<CheckpointContents> CheckpointStore::Load(const Candidate& candidate) const {
  WAGGLE_RETURN_IF_ERROR(ReadHeader(candidate).status());
  return ReadCheckpointFile(absl::StrCat(Path(candidate.name), "/", kFile));
}

void CheckpointStore::Prune(int64_t saved_step) const {
  const absl::StatusOr<std::vector<Candidate>> candidates = ListCandidates();
  absl::Status status = candidates.status();
  int whole = 0;
  int64_t last_whole_step = -1;
  for (size_t i = 0; status.ok() && i < candidates->size(); ++i) {
    const Candidate& candidate = (*candidates)[i];
    if (candidate.step > saved_step) {
      // It is damaged and was skipped, or another learner's: it must not be removed or counted.
      continue;
    }
    // Damaged ones do not count, so that they do not displace intact ones.
    if (whole >= keep_ || candidate.step == last_whole_step) {
      status = Remove(candidate.name);
    } else if (damaged_.count(candidate.name) == 0 && ReadHeader(candidate).ok()) {
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
  if (const absl::Status status = Rename(Path(name), temporary); !status.ok()) {
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }
  return RemoveAll(temporary);
}

std::string CheckpointStore::Path(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

}  // namespace waggle
