#include "learner/cut_maker.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/stopwatch.h"
#include "common/rl/checkpoint/checkpoint_store.h"

namespace waggle {
namespace {

// From one look at the hub's wish to the next.
constexpr absl::Duration kLookPause = absl::Milliseconds(50);
// A preparation, and the writing of the cut before.
constexpr size_t kMaxTasks = 2;

// Removes the cuts in `folder` that are not named.
absl::Status RemoveOthers(const std::string& folder, uint64_t cut, const std::vector<uint64_t>& kept) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(name, &number) && number != cut && std::find(kept.begin(), kept.end(), number) == kept.end()) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, "/", name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CutMaker::CutMaker(const Options& options) : options_(options), background_("cuts", 1, kMaxTasks) {}

CutMaker::~CutMaker() {
  closing_.RequestStop();
}

uint64_t CutMaker::Due() {
  const absl::Time now = SteadyNow();
  if (now < next_look_) {
    return 0;
  }
  next_look_ = now + kLookPause;
  const uint64_t wanted = options_.hub->assignment().cut_wanted;
  if (wanted == 0 || wanted == made_) {
    return 0;
  }
  if (prepared_ == wanted) {
    made_ = wanted;
    return wanted;
  }
  if (preparing_ != wanted) {
    const absl::Status begun = background_.Submit([this, wanted] {
      const absl::Status saved = options_.replay->Checkpoint({}, closing_);
      if (saved.ok()) {
        prepared_ = wanted;
      } else {
        ReportFailure(wanted, saved);
      }
    });
    preparing_ = begun.ok() ? wanted : preparing_;  // Otherwise an earlier cut is being written.
  }
  return 0;
}

absl::Status CutMaker::SaveReplay(uint64_t cut, bool begin_anew, const StopToken& stop) const {
  // All complete cuts stay until the hub has made this one complete.
  return options_.replay->Checkpoint({cut, options_.hub->assignment().cuts, begin_anew}, stop);
}

absl::Status CutMaker::Write(uint64_t cut, const CheckpointContents& contents) const {
  if (options_.output_folder.empty()) {
    return absl::FailedPreconditionError("the learner has no output folder for its part");
  }
  const std::string cuts = absl::StrCat(options_.output_folder, "/cuts");
  const std::string folder = absl::StrCat(cuts, "/", cut);
  WAGGLE_RETURN_IF_ERROR(RemoveAll(folder));  // An attempt of before a return to an earlier cut.
  WAGGLE_RETURN_IF_ERROR(CreateFolders(cuts));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::Open(folder, /*keep=*/1));
  WAGGLE_RETURN_IF_ERROR(store->Save(contents));
  return RemoveOthers(cuts, cut, options_.hub->assignment().cuts);
}

void CutMaker::Report(uint64_t cut, int64_t learner_steps, const absl::Status& status) const {
  if (!status.ok()) {
    LogWarning("cut ", cut, " could not be made: ", status.message());
  }
  options_.hub->ReportCut({cut, learner_steps, std::string(status.message())});
}

void CutMaker::Make(uint64_t cut, absl::FunctionRef<absl::StatusOr<CheckpointContents>()> capture,
                    const StopToken& stop) {
  const Stopwatch since;
  absl::Status status = SaveReplay(cut, /*begin_anew=*/false, stop);
  absl::StatusOr<CheckpointContents> contents = status.ok() ? capture() : status;
  LogInfo("the learner rested for ", absl::FormatDuration(since.Elapsed()), " for cut ", cut);
  if (contents.ok()) {
    status = background_.Submit(
        [this, cut, contents = *std::move(contents)] { Report(cut, contents.step, Write(cut, contents)); });
  } else {
    status = contents.status();
  }
  if (!status.ok()) {
    ReportFailure(cut, status);
  }
}

absl::Status CutMaker::MakeInLockStep(uint64_t cut, absl::FunctionRef<absl::StatusOr<CheckpointContents>()> capture,
                                      const StopToken& stop) {
  absl::StatusOr<CheckpointContents> contents = capture();
  absl::Status status = contents.status();
  if (status.ok()) {
    status = Write(cut, *contents);
  }
  if (status.ok()) {  // Last: after it the tables are others.
    status = SaveReplay(cut, /*begin_anew=*/true, stop);
  }
  Report(cut, contents.ok() ? contents->step : 0, status);
  return status;
}

}  // namespace waggle
