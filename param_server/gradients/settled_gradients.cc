#include "param_server/gradients/settled_gradients.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kLifeParts = 4;
constexpr size_t kResultParts = 4;

// Sequence, verdict, epoch and version: "7:0:2:1500".
bool ParseResult(absl::string_view text, std::map<uint64_t, GradientResult>* results) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  uint64_t sequence = 0;
  int verdict = 0;
  GradientResult result;
  if (parts.size() != kResultParts || !absl::SimpleAtoi(parts[0], &sequence) || !absl::SimpleAtoi(parts[1], &verdict) ||
      !absl::SimpleAtoi(parts[2], &result.version.epoch) || !absl::SimpleAtoi(parts[3], &result.version.version) ||
      verdict < 0 || verdict > static_cast<int>(GradientVerdict::kTrainingOver)) {
    return false;
  }
  result.verdict = static_cast<GradientVerdict>(verdict);
  if (result.verdict != GradientVerdict::kApplied) {
    result.message = "was refused before the primary was restarted";
  }
  return results->emplace(sequence, std::move(result)).second;
}

}  // namespace

SettledGradients::Life& SettledGradients::LifeOf(const GradientMember& member) {
  Life& life = lives_[{member.worker_id, member.life}];
  life.heard = ++heard_;
  if (lives_.size() > max_lives_) {
    lives_.erase(std::min_element(lives_.begin(), lives_.end(),
                                  [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; }));
  }
  return life;
}

absl::Status SettledGradients::Hear(const GradientMember& member) {
  if (member.sequence == 0 ||
      (member.sequence > member.acknowledged && member.sequence - member.acknowledged > kMaxGradientsAhead)) {
    return absl::InvalidArgumentError(absl::StrCat("sequence ", member.sequence, " where ", member.acknowledged,
                                                   " are acknowledged; wanted at least 1, and at most ",
                                                   kMaxGradientsAhead, " more than that"));
  }
  if (member.applied > member.acknowledged) {
    return absl::InvalidArgumentError(
        absl::StrCat(member.applied, " gradients applied of ", member.acknowledged, " that are acknowledged"));
  }
  Life& life = LifeOf(member);
  if (member.acknowledged <= life.acknowledged) {
    return absl::OkStatus();
  }
  const auto end = life.results.upper_bound(member.acknowledged);
  const auto known = static_cast<uint64_t>(std::count_if(
                         life.results.begin(), end,
                         [](const auto& result) { return result.second.verdict == GradientVerdict::kApplied; })) +
                     life.applied;
  life.results.erase(life.results.begin(), end);
  rolled_back_ += member.applied > known ? static_cast<int64_t>(member.applied - known) : 0;
  life.acknowledged = member.acknowledged;
  life.applied = std::max(known, member.applied);
  return absl::OkStatus();
}

std::optional<GradientResult> SettledGradients::Find(const GradientMember& member) const {
  const auto life = lives_.find({member.worker_id, member.life});
  if (life == lives_.end()) {
    return std::nullopt;
  }
  if (member.sequence <= life->second.acknowledged) {
    return GradientResult();
  }
  const auto result = life->second.results.find(member.sequence);
  return result == life->second.results.end() ? std::nullopt : std::optional<GradientResult>(result->second);
}

void SettledGradients::Settle(const GradientMember& member, GradientResult result) {
  LifeOf(member).results.emplace(member.sequence, std::move(result));
}

std::string SettledGradients::ToText() const {
  std::string text;
  for (const auto& [key, life] : lives_) {
    absl::StrAppend(&text, key.first, " ", key.second, " ", life.acknowledged, " ", life.applied);
    for (const auto& [sequence, result] : life.results) {
      absl::StrAppend(&text, " ", sequence, ":", static_cast<int>(result.verdict), ":", result.version.epoch, ":",
                      result.version.version);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

absl::StatusOr<SettledGradients> SettledGradients::FromText(absl::string_view text, size_t max_lives) {
  SettledGradients settled(max_lives);
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    Key key;
    Life life;
    bool good = parts.size() >= kLifeParts && absl::SimpleAtoi(parts[1], &key.second) &&
                absl::SimpleAtoi(parts[2], &life.acknowledged) && absl::SimpleAtoi(parts[3], &life.applied);
    for (size_t i = kLifeParts; good && i < parts.size(); ++i) {
      good = ParseResult(parts[i], &life.results);
    }
    if (!good) {
      return absl::DataLossError(absl::StrCat("no record of a worker's gradients: \"", line.substr(0, 200), "\""));
    }
    key.first = std::string(parts[0]);
    settled.lives_[key] = std::move(life);
  }
  return settled;
}

}  // namespace waggle
