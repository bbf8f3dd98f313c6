#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_stall.h"
#include "replay_server/table/client_words.h"

namespace waggle {
namespace {

std::string DiskText(const DiskPicture& disk) {
  return disk.folder.empty() ? "the disk" : absl::StrCat("the disk of ", disk.folder);
}

std::string UnacknowledgedText(const DiskPicture& disk) {
  if (disk.unacknowledged_blocks == 0) {
    return "";
  }
  return absl::StrCat(
      "; ", disk.unacknowledged_blocks,
      disk.unacknowledged_blocks == 1 ? " block of its writers, with " : " blocks of its writers, with ",
      disk.unacknowledged_bytes, " bytes, ", disk.unacknowledged_blocks == 1 ? "has" : "have", " come and ",
      disk.unacknowledged_blocks == 1 ? "is" : "are", " not acknowledged");
}

std::string CheckpointText(const DiskPicture& disk) {
  return absl::StrCat("the last checkpoint was not kept: ", disk.checkpoint_problem, "; ",
                      disk.checkpoint_ago.has_value()
                          ? absl::StrCat("the newest kept checkpoint, number ", disk.checkpoint_number, ", is ",
                                         SecondsText(*disk.checkpoint_ago), " old")
                          : "no checkpoint was kept since the server was started");
}

Explanation Refusing(const DiskPicture& disk, const absl::Status& failure, const std::string& why) {
  Explanation finding;
  finding.set_verdict(Explanation::VERDICT_WAITING);
  finding.set_cause(causes::kDiskRefuses);
  finding.set_summary(absl::StrCat(why, UnacknowledgedText(disk)));
  const std::string folder = disk.folder.empty() ? "the server's folder" : disk.folder;
  finding.set_who_could(
      absl::StrCat(LacksRoom(failure) ? "more room in " : "a repair that lets the server write to ", folder,
                   ": then the server goes on without a restart, and nothing that was acknowledged is lost"));
  if (LacksRoom(failure)) {
    AddInWords(absl::StrCat("room in ", folder), "none", "more", &finding);
  }
  return finding;
}

// The commit is the whole server's: perhaps only other tables' writers wait for it.
Explanation Slow(const DiskPicture& disk) {
  Explanation finding;
  finding.set_cause(causes::kDiskSlow);
  const char* const now = disk.makes_checkpoint ? "a checkpoint is being made, and the next commit comes after it"
                                                : "a commit is under way";
  if (disk.unacknowledged_blocks == 0) {
    finding.set_summary(absl::StrCat("a commit of this server takes long, ", SecondsText(disk.commit_waits),
                                     " so far, on ", DiskText(disk), ": ", now));
    return finding;
  }
  finding.set_verdict(Explanation::VERDICT_WAITING);
  finding.set_summary(absl::StrCat("for ", SecondsText(disk.commit_waits), ": writers wait for ", DiskText(disk),
                                   ", which is slow: ", now, UnacknowledgedText(disk)));
  finding.set_who_could(absl::StrCat(DiskText(disk), ": the writers go on once it has written the data"));
  return finding;
}

}  // namespace

std::optional<Explanation> ExplainDisk(const TablePicture& picture, const ExplainOptions& options) {
  const DiskPicture& disk = picture.disk;
  const Durability durability = picture.config->durability;
  std::optional<Explanation> finding;
  if (durability != Durability::kNone && !disk.failure.ok()) {
    finding = Refusing(disk, disk.failure,
                       absl::StrCat("for ", SecondsText(disk.failing), ": writers wait for ", DiskText(disk),
                                    ", which refuses writes: ", disk.failure.message()));
  } else if (!picture.tier.status.ok()) {
    finding = Refusing(disk, picture.tier.status, WhyTierWaits(picture.tier));
  } else if (durability == Durability::kLog && disk.commit_waits >= options.patience) {
    finding = Slow(disk);
  }
  if (durability == Durability::kNone || disk.checkpoint_problem.empty()) {
    return finding;
  }
  const std::string before = finding.has_value() ? absl::StrCat(finding->summary(), "; ") : "";
  finding = std::move(finding).value_or(Explanation());
  finding->set_summary(before + CheckpointText(disk));
  if (finding->verdict() != Explanation::VERDICT_WAITING) {
    finding->set_cause(causes::kCheckpointFails);
  }
  return finding;
}

}  // namespace waggle
