#include "replay_server/writers/forgotten_writers.h"

#include <algorithm>

#include "replay_server/table/table.h"
#include "replay_server/writers/writer_session.h"

namespace waggle {

void ForgottenWriters::Add(const std::string& id, const WriterSession& session) {
  const WriterSession::Progress progress = session.progress();
  if (progress.sequence == 0 || most_ == 0) {
    return;
  }
  Entry entry;
  entry.writer = {session.incarnation(), progress.sequence, progress.items};
  entry.tables.assign(session.tables().begin(), session.tables().end());
  entry.number = ++added_;
  const Key key(id, entry.writer.incarnation);
  order_.emplace_back(entry.number, key);
  writers_[key] = std::move(entry);
  while (writers_.size() > most_ || order_.size() > 2 * most_) {
    const auto oldest = writers_.find(order_.front().second);
    if (oldest != writers_.end() && oldest->second.number == order_.front().first) {
      writers_.erase(oldest);
    }
    order_.pop_front();
  }
}

std::optional<ForgottenWriters::Writer> ForgottenWriters::Find(
    const std::string& id, uint64_t incarnation, const std::vector<std::shared_ptr<Table>>& tables) const {
  const auto found = writers_.find({id, incarnation});
  if (found == writers_.end()) {
    return std::nullopt;
  }
  const Entry& entry = found->second;
  const bool same = std::equal(entry.tables.begin(), entry.tables.end(), tables.begin(), tables.end(),
                               [](const auto& then, const auto& now) { return then.lock() == now; });
  return same ? std::optional<Writer>(entry.writer) : std::nullopt;
}

}  // namespace waggle
