#include "replay_server/diagnose/explain_disk.h"

#include "absl/strings/str_cat.h"
#include "replay_server/table/parties.h"

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
                          ? absl::StrCat("the newest one that was, number ", disk.checkpoint_number, ", is ",
                                         SecondsText(*disk.checkpoint_ago), " old")
                          : "none was since the server was started");
}

void AddRemedy(const DiskPicture& disk, const absl::Status& failure, Beside* story) {
  const std::string folder = disk.folder.empty() ? "the server's folder" : disk.folder;
  story->who_could = absl::StrCat("whoever ", LacksRoom(failure) ? "makes room in " : "makes it possible to write to ",
                                  folder, ": then all goes on by itself, and nothing that was acknowledged is lost");
  if (LacksRoom(failure)) {
    story->finding.remedies.push_back({absl::StrCat("room in ", folder), "none", "more", 0, false});
  }
}

Beside Refusing(const DiskPicture& disk) {
  Beside story;
  story.verdict = Verdict::kWaiting;
  story.finding.cause = Cause::kDiskRefuses;
  story.finding.why =
      absl::StrCat("for ", SecondsText(disk.failing), ": writers wait for ", DiskText(disk),
                   ", which refuses what is to be kept: ", disk.failure.message(), UnacknowledgedText(disk));
  AddRemedy(disk, disk.failure, &story);
  return story;
}

Beside RefusingRows(const TablePicture& picture) {
  Beside story;
  story.verdict = Verdict::kWaiting;
  story.finding.cause = Cause::kDiskRefuses;
  story.finding.why = absl::StrCat(WhyTierWaits(picture.tier), UnacknowledgedText(picture.disk));
  AddRemedy(picture.disk, picture.tier.status, &story);
  return story;
}

// The commit is of the whole server: others may wait for it where no writer of this table does.
Beside Slow(const DiskPicture& disk) {
  Beside story;
  story.finding.cause = Cause::kDiskSlow;
  const char* const now = disk.makes_checkpoint ? "a checkpoint is being made, and the next commit comes after it"
                                                : "a commit is under way";
  if (disk.unacknowledged_blocks == 0) {
    story.finding.why = absl::StrCat("a commit of this server takes long, ", SecondsText(disk.commit_waits),
                                     " so far, on ", DiskText(disk), ": ", now);
    return story;
  }
  story.verdict = Verdict::kWaiting;
  story.finding.why = absl::StrCat("for ", SecondsText(disk.commit_waits), ": writers wait for ", DiskText(disk),
                                   ", which is slow: ", now, UnacknowledgedText(disk));
  story.who_could = absl::StrCat(DiskText(disk), ": all goes on by itself once it has written that");
  return story;
}

}  // namespace

std::optional<Beside> ExplainDisk(const TablePicture& picture, const ExplainOptions& options) {
  const DiskPicture& disk = picture.disk;
  const Durability durability = picture.config->durability;
  std::optional<Beside> story;
  if (durability != Durability::kNone && !disk.failure.ok()) {
    story = Refusing(disk);
  } else if (!picture.tier.status.ok()) {
    story = RefusingRows(picture);
  } else if (durability == Durability::kLog && disk.commit_waits >= options.patience) {
    story = Slow(disk);
  }
  if (durability != Durability::kNone && !disk.checkpoint_problem.empty()) {
    if (story.has_value()) {
      absl::StrAppend(&story->finding.why, "; ", CheckpointText(disk));
      if (story->verdict == Verdict::kFlowing) {
        story->finding.cause = Cause::kCheckpointFails;
      }
    } else {
      story = Beside{Verdict::kFlowing, {Cause::kCheckpointFails, CheckpointText(disk), {}}, ""};
    }
  }
  return story;
}

}  // namespace waggle
