#include "replay_server/writers/known_writers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

bool Holds(const std::vector<std::shared_ptr<Table>>& tables, const std::shared_ptr<Table>& table) {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

}  // namespace

absl::Status KnownWritersOptions::Validate() const {
  if (max_writers < 1 || max_idle_writer_bytes < 0 || max_idle_time < absl::ZeroDuration() ||
      max_forgotten_writers < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_writers ", max_writers, ", max_idle_writer_bytes ", max_idle_writer_bytes, ", max_idle_time ",
                     absl::FormatDuration(max_idle_time), ", max_forgotten_writers ", max_forgotten_writers,
                     ": there has to be room for a writer, and none of them is negative"));
  }
  return absl::OkStatus();
}

KnownWriters::KnownWriters(const KnownWritersOptions& options)
    : options_(options), forgotten_(static_cast<size_t>(options.max_forgotten_writers)) {}

std::shared_ptr<WriterSession> KnownWriters::Find(const std::string& id) const {
  const auto found = writers_.find(id);
  return found == writers_.end() ? nullptr : found->second.session;
}

void KnownWriters::Open(const std::string& id, const std::shared_ptr<WriterSession>& session) {
  Writer& writer = writers_[id];
  writer.session = session;
  writer.opened = ++openings_;
  writer.away_since = absl::InfiniteFuture();
}

void KnownWriters::MakeRoom(Forgotten* forgotten) {
  if (const auto first = LongestAway(); size() >= options_.max_writers && first != writers_.end()) {
    Forget(first, forgotten);
  }
  ForgetForBytes(forgotten);
}

void KnownWriters::Forget(const std::string& id, Forgotten* forgotten) {
  if (const auto found = writers_.find(id); found != writers_.end()) {
    Forget(found, forgotten);
  }
}

void KnownWriters::ForgetThoseOf(const std::vector<std::shared_ptr<Table>>& tables, Forgotten* forgotten) {
  for (auto it = writers_.begin(); it != writers_.end();) {
    const auto here = it++;
    const auto& own = here->second.session->tables();
    if (std::all_of(own.begin(), own.end(), [&](const auto& table) { return Holds(tables, table); })) {
      Forget(here, forgotten);
    }
  }
}

void KnownWriters::ForgetEnded(const std::string& id, uint64_t incarnation, Forgotten* forgotten) {
  const auto found = writers_.find(id);
  if (found != writers_.end() && found->second.session->ended() &&
      found->second.session->incarnation() != incarnation) {
    Forget(found, forgotten);
  }
}

void KnownWriters::Forget(Writers::iterator writer, Forgotten* forgotten) {
  if (writer->second.away() || writer->second.session->ended()) {  // Otherwise a stream still uses it.
    forgotten_.Add(writer->first, *writer->second.session);
  }
  forgotten->push_back(std::move(writer->second.session));
  writers_.erase(writer);
}

KnownWriters::Writers::iterator KnownWriters::LongestAway() {
  const auto key = [](const Writer& writer) { return std::make_tuple(writer.away_since, writer.opened); };
  auto first = writers_.end();
  for (auto it = writers_.begin(); it != writers_.end(); ++it) {
    if (it->second.away() && (first == writers_.end() || key(it->second) < key(first->second))) {
      first = it;
    }
  }
  return first;
}

void KnownWriters::ForgetForBytes(Forgotten* forgotten) {
  int64_t bytes = 0;
  for (const auto& [id, writer] : writers_) {
    bytes += writer.away() ? writer.session->held_bytes() : 0;
  }
  while (bytes > options_.max_idle_writer_bytes) {
    const auto first = LongestAway();
    if (first == writers_.end()) {
      return;
    }
    bytes -= first->second.session->held_bytes();
    Forget(first, forgotten);
  }
}

void KnownWriters::Tend(absl::Time now, Forgotten* forgotten, std::vector<std::shared_ptr<WriterSession>>* just_gone) {
  for (auto it = writers_.begin(); it != writers_.end();) {
    Writer& writer = it->second;
    const auto here = it++;
    if (!writer.away()) {
      writer.away_since = absl::InfiniteFuture();
    } else if (writer.away_since == absl::InfiniteFuture()) {
      writer.away_since = now;
      just_gone->push_back(writer.session);
    } else if (now - writer.away_since > options_.max_idle_time) {
      Forget(here, forgotten);
    }
  }
}

int64_t KnownWriters::held_bytes() const {
  int64_t bytes = 0;
  for (const auto& [id, writer] : writers_) {
    bytes += writer.session->held_bytes();
  }
  return bytes;
}

std::pair<int64_t, int64_t> KnownWriters::CountThoseOf(const std::vector<std::shared_ptr<Table>>& tables) const {
  std::pair<int64_t, int64_t> count_and_bytes;
  for (const auto& [id, writer] : writers_) {
    const auto& own = writer.session->tables();
    if (std::any_of(own.begin(), own.end(), [&](const auto& table) { return Holds(tables, table); })) {
      ++count_and_bytes.first;
      count_and_bytes.second += writer.session->held_bytes();
    }
  }
  return count_and_bytes;
}

// Keyed by table: names would be copied. Copies of sessions would make writers that are away look connected.
std::map<std::shared_ptr<Table>, WriterSession::Unanswered> KnownWriters::unanswered() const {
  std::map<std::shared_ptr<Table>, WriterSession::Unanswered> by_table;
  for (const auto& [id, writer] : writers_) {
    const WriterSession::Unanswered unanswered = writer.session->unanswered();
    if (unanswered.blocks == 0) {
      continue;
    }
    for (const std::shared_ptr<Table>& table : writer.session->tables()) {
      WriterSession::Unanswered& all = by_table[table];
      all.blocks += unanswered.blocks;
      all.bytes += unanswered.bytes;
    }
  }
  return by_table;
}

}  // namespace waggle
