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
  int64_t max_writers = 4096;  // Beyond it the writer that has been away longest is forgotten.
  // Writers that are away are forgotten after max_idle_time, or, longest first, if together they keep more bytes alive.
  // This frees their rows. Their progress (some hundred bytes) is kept for up to max_forgotten_writers.
  int64_t max_idle_writer_bytes = int64_t{512} << 20;
  absl::Duration max_idle_time = absl::Minutes(30);
  int64_t max_forgotten_writers = 65'536;

  // INVALID_ARGUMENT if no writer would be allowed or a value is negative.
  absl::Status Validate() const;
};

// The writers of a server, connected or away. Not thread-safe. Callers must free forgotten sessions outside the lock.
class KnownWriters {
 public:
  using Forgotten = std::vector<std::shared_ptr<WriterSession>>;

  explicit KnownWriters(const KnownWritersOptions& options);

  // Null if unknown.
  std::shared_ptr<WriterSession> Find(const std::string& id) const;
  // Called when a writer comes or comes back.
  void Open(const std::string& id, const std::shared_ptr<WriterSession>& session);
  // False if max_writers are connected.
  bool HasRoom() { return size() < options_.max_writers || LongestAway() != writers_.end(); }
  // Makes room for one more writer, if possible.
  void MakeRoom(Forgotten* forgotten);
  void Forget(const std::string& id, Forgotten* forgotten);
  // Forgets writers that write only to `tables`.
  void ForgetThoseOf(const std::vector<std::shared_ptr<Table>>& tables, Forgotten* forgotten);
  // Forgets the writer with this id if it has another incarnation and has ended.
  void ForgetEnded(const std::string& id, uint64_t incarnation, Forgotten* forgotten);
  // See ForgottenWriters.
  std::optional<ForgottenWriters::Writer> FindForgotten(const std::string& id, uint64_t incarnation,
                                                        const std::vector<std::shared_ptr<Table>>& tables) const {
    return forgotten_.Find(id, incarnation, tables);
  }
  void DropForgotten(const std::string& id, uint64_t incarnation) { forgotten_.Drop(id, incarnation); }

  // Forgets writers that have been away too long. Also returns those that have just left, so that they can be shrunk.
  void Tend(absl::Time now, Forgotten* forgotten, std::vector<std::shared_ptr<WriterSession>>* just_gone);
  // Forgets writers that are away while those keep too many bytes alive.
  void ForgetForBytes(Forgotten* forgotten);

  int64_t size() const { return static_cast<int64_t>(writers_.size()); }
  int64_t held_bytes() const;  // See WriterSession::held_bytes.
  // The number of writers to one of these tables, and their held bytes.
  std::pair<int64_t, int64_t> CountThoseOf(const std::vector<std::shared_ptr<Table>>& tables) const;
  // The unanswered blocks of each table's writers. A block for several tables counts at each.
  std::map<std::shared_ptr<Table>, WriterSession::Unanswered> unanswered() const;

 private:
  struct Writer {
    std::shared_ptr<WriterSession> session;
    uint64_t opened = 0;                             // Number of its last opening among all openings.
    absl::Time away_since = absl::InfiniteFuture();  // As Tend last saw.

    // True if no stream of it is open and it does not wait in a table.
    bool away() const { return session.use_count() == 1; }
  };
  using Writers = std::map<std::string, Writer>;

  // The writer that has been away longest; the end if all are connected.
  Writers::iterator LongestAway();
  void Forget(Writers::iterator writer, Forgotten* forgotten);

  const KnownWritersOptions options_;
  Writers writers_;
  ForgottenWriters forgotten_;
  uint64_t openings_ = 0;
};

}  // namespace waggle
