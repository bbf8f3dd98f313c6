#include "cli/experiments/cuts.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/human_text.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using Service = v1::ExperimentService::Stub;
using Json = nlohmann::ordered_json;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
constexpr absl::Duration kLookPause = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<v1::CutsResponse::Cut> MakeCut(const ExperimentClient& client, const std::string& id,
                                              const StopToken& stop) {
  v1::CheckpointExperimentRequest request;
  request.set_id(id);
  WAGGLE_ASSIGN_OR_RETURN(const v1::CheckpointExperimentResponse begun,
                          client.Ask(&Service::Checkpoint, request, kAnswerTimeout, stop));
  v1::CutsRequest question;
  question.set_id(id);
  while (true) {
    WAGGLE_ASSIGN_OR_RETURN(const v1::CutsResponse cuts, client.Ask(&Service::Cuts, question, kAnswerTimeout, stop));
    for (const v1::CutsResponse::Cut& cut : cuts.cuts()) {
      if (cut.number() == begun.number()) {
        return cut;
      }
    }
    if (cuts.failed() == begun.number()) {
      return absl::AbortedError(absl::StrCat("cut ", begun.number(), " could not be made: ", cuts.failure()));
    }
    if (cuts.in_progress() != begun.number()) {
      return absl::AbortedError(absl::StrCat("cut ", begun.number(), " was not made, because the run ended"));
    }
    if (stop.WaitFor(kLookPause)) {
      return absl::CancelledError("stopped while the cut was made");
    }
  }
}

std::string CutText(const std::string& id, const v1::CutsResponse::Cut& cut) {
  return absl::StrCat(
      id, ": cut ", cut.number(), ": learner step ", cut.learner_steps(), ", ", cut.env_steps(),
      " environment steps, made at ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(cut.made_at_us()), absl::UTCTimeZone()), " UTC\n");
}

Json CutJson(const v1::CutsResponse::Cut& cut) {
  return {{"number", cut.number()},
          {"learner_steps", cut.learner_steps()},
          {"env_steps", cut.env_steps()},
          {"made_at", static_cast<double>(cut.made_at_us()) / 1e6}};
}

std::string CutsText(const std::string& id, const v1::CutsResponse& cuts) {
  std::string text;
  for (const v1::CutsResponse::Cut& cut : cuts.cuts()) {
    absl::StrAppend(&text, CutText(id, cut));
  }
  if (cuts.cuts().empty()) {
    absl::StrAppend(&text, id, ": no cut is complete\n");
  }
  if (cuts.in_progress() != 0) {
    absl::StrAppend(&text, id, ": cut ", cuts.in_progress(), " is being made\n");
  }
  if (cuts.failed() != 0) {
    absl::StrAppend(&text, id, ": cut ", cuts.failed(), " could not be made: ", Printable(cuts.failure()), "\n");
  }
  return text;
}

Json CutsJson(const v1::CutsResponse& cuts) {
  Json all = Json::array();
  for (const v1::CutsResponse::Cut& cut : cuts.cuts()) {
    all.push_back(CutJson(cut));
  }
  Json json = {{"cuts", std::move(all)}};
  json["in_progress"] = cuts.in_progress() == 0 ? Json() : Json(cuts.in_progress());
  json["failed"] = cuts.failed() == 0 ? Json() : Json({{"number", cuts.failed()}, {"reason", cuts.failure()}});
  return json;
}

}  // namespace waggle
