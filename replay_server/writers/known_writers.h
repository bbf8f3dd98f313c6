#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "replay_server/writers/forgotten_writers.h"
#include "replay_server/writers/writer_session.h"

namespace waggle {

struct KnownWritersOptions {
  int64_t max_writers = 4096;  // Past these the writer that has been away longest is forgotten.
  // Writers that are away are forgotten, longest first, while they keep more than this alive together, and after so
  // long: their rows are, while how far they were is known as long as there are not too many of them (some hundred
  // bytes each).
  int64_t max_idle_writer_bytes = int64_t{512} << 20;
  absl::Duration max_idle_time = absl::Minutes(30);
  int64_t max_forgotten_writers = 65'536;

  // INVALID_ARGUMENT where there could be no writer, or what is negative.
  absl::Status Validate() const;
};

// The writers of a replay server, connected or away. Not thread-safe. Sessions that are forgotten are handed over, to
// be freed outside the lock.
class KnownWriters {
 public:
  using Forgotten = std::vector<std::shared_ptr<WriterSession>>;

  explicit KnownWriters(const KnownWritersOptions& options);

  // Null if it is not known.
  std::shared_ptr<WriterSession> Find(const std::string& id) const;
  // A known writer has come back, or a new one has come.
  void Open(const std::string& id, const std::shared_ptr<WriterSession>& session);
  // False if there are as many as there may be, and all are connected.
  bool HasRoom() { return size() < options_.max_writers || LongestAway() != writers_.end(); }
  // Makes room for one more, where there is any.
  void MakeRoom(Forgotten* forgotten);
  void Forget(const std::string& id, Forgotten* forgotten);
  // Forgets those whose tables are all among these.
  void ForgetThoseOf(const std::vector<std::shared_ptr<Table>>& tables, Forgotten* forgotten);
  // Forgets the writer that has this id, if it is another one than `incarnation` and has ended.
  void ForgetEnded(const std::string& id, uint64_t incarnation, Forgotten* forgotten);
  // See ForgottenWriters.
  std::optional<ForgottenWriters::Writer> FindForgotten(const std::string& id, uint64_t incarnation,
                                                        const std::vector<std::shared_ptr<Table>>& tables) const {
    return forgotten_.Find(id, incarnation, tables);
  }
  void DropForgotten(const std::string& id, uint64_t incarnation) { forgotten_.Drop(id, incarnation); }

  // Forgets those that have been away for too long by now. Those that have just gone away are handed over too: they are
  // to hold little.
  void Tend(absl::Time now, Forgotten* forgotten, std::vector<std::shared_ptr<WriterSession>>* just_gone);
  // Forgets those that are away and keep too much alive.
  void ForgetForBytes(Forgotten* forgotten);

  int64_t size() const { return static_cast<int64_t>(writers_.size()); }
  int64_t held_bytes() const;  // See WriterSession::held_bytes.
  // How many write to one of these tables, and what they hold.
  std::pair<int64_t, int64_t> CountThoseOf(const std::vector<std::shared_ptr<Table>>& tables) const;
  // By table: what its writers wait for together. A block for several tables is counted at each.
  std::map<std::shared_ptr<Table>, WriterSession::Unanswered> unanswered() const;

 private:
  struct Writer {
    std::shared_ptr<WriterSession> session;
    uint64_t opened = 0;                             // When it opened last, in openings of all writers.
    absl::Time away_since = absl::InfiniteFuture();  // As far as Tend has seen.

    // Nobody has a stream of it open, and nothing of it waits in a table.
    bool away() const { return session.use_count() == 1; }
  };
  using Writers = std::map<std::string, Writer>;

  // Of those that are away the one that has been longest; the end if none is.
  Writers::iterator LongestAway();
  void Forget(Writers::iterator writer, Forgotten* forgotten);

  const KnownWritersOptions options_;
  Writers writers_;
  ForgottenWriters forgotten_;
  uint64_t openings_ = 0;
};

}  // namespace waggle
