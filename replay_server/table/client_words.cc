#include "replay_server/table/client_words.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace waggle {
namespace {

using Kind = TableClient::Kind;

constexpr size_t kMaxNamed = 4;

}  // namespace

std::string SecondsText(absl::Duration duration) {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(duration));
  return seconds < 100 ? absl::StrFormat("%.3g s", seconds) : absl::StrFormat("%.0f s", seconds);
}

std::string DescribeClients(const TablePicture& picture, TableClient::Kind kind) {
  const bool writers = kind == Kind::kWriter;
  std::vector<const TablePicture::Party*> parties;
  for (const TablePicture::Party& party : picture.parties) {
    if (party.kind == kind) {
      parties.push_back(&party);
    }
  }
  std::sort(parties.begin(), parties.end(), [](const auto* a, const auto* b) {
    return std::make_pair(!a->present, a->active_ago) < std::make_pair(!b->present, b->active_ago);
  });
  const auto present = std::count_if(parties.begin(), parties.end(), [](const auto* party) { return party->present; });
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(kMaxNamed, parties.size()); ++i) {
    const TablePicture::Party& party = *parties[i];
    std::string text = absl::StrCat(
        party.name.empty() ? "unnamed" : party.name, " (",
        party.items == 0 ? absl::StrCat("never ", writers ? "inserted" : "sampled")
                         : absl::StrCat(writers ? "inserted " : "sampled ", SecondsText(party.active_ago), " ago"));
    if (!party.waits_at.empty()) {
      absl::StrAppend(&text, ", waits at table \"", party.waits_at, "\"");
    }
    if (!party.present) {
      absl::StrAppend(&text, party.left_ago < absl::InfiniteDuration()
                                 ? absl::StrCat(", left ", SecondsText(party.left_ago), " ago")
                                 : ", not connected");
    }
    texts.push_back(absl::StrCat(text, ")"));
  }
  const char* const role = writers ? "writer" : "sampler";
  std::string text = present == 0   ? absl::StrCat("no ", role, " is connected")
                     : present == 1 ? absl::StrCat("1 ", role, " is connected")
                                    : absl::StrCat(present, " ", role, "s are connected");
  if (parties.empty()) {
    const bool ever = (writers ? picture.inserts : picture.samples) > 0;
    return ever ? text : absl::StrCat(text, ", and none ever was");
  }
  return absl::StrCat(text, ": ", absl::StrJoin(texts, ", "),
                      parties.size() > kMaxNamed ? absl::StrCat(" and ", parties.size() - kMaxNamed, " more") : "");
}

void LinkWaits(std::vector<TablePicture>* pictures) {
  std::map<std::pair<Kind, std::string>, std::string> waits;
  for (const TablePicture& picture : *pictures) {
    for (const TablePicture::Wait& wait : picture.first_inserts) {
      waits.emplace(std::make_pair(Kind::kWriter, wait.who), picture.config->name);
    }
    for (const TablePicture::Wait& wait : picture.first_samples) {
      waits.emplace(std::make_pair(Kind::kSampler, wait.who), picture.config->name);
    }
  }
  for (TablePicture& picture : *pictures) {
    for (TablePicture::Party& party : picture.parties) {
      const auto found = waits.find({party.kind, party.name});
      if (!party.name.empty() && found != waits.end() && found->second != picture.config->name) {
        party.waits_at = found->second;
      }
    }
  }
}

}  // namespace waggle
