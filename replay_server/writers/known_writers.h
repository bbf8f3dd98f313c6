#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// The writers of a server: connected, away, or saved and not back since the server started. Not thread-safe.
class KnownWriters {
 public:
  // Sessions and saved writers. Callers must free them outside the lock.
  using Forgotten = std::vector<std::shared_ptr<const void>>;
  using Tables = std::vector<std::shared_ptr<Table>>;

  // `log` must outlive this; null if all tables are in memory only. The held rows of all writers may take `max_bytes`.
  KnownWriters(const KnownWritersOptions& options, const WriterSessionOptions& writer, int64_t max_bytes,
               TableLog* log);

  // Must be called before other functions.
  void Restore(SavedWriter writer);
  // See ReplayStore::OpenWriter.
  absl::StatusOr<std::shared_ptr<WriterSession>> Open(const std::string& id, Tables tables,
                                                      const std::vector<ArraySpec>& signature,
                                                      std::optional<uint64_t> incarnation, Forgotten* forgotten);
  // Forgets writers that write only to this experiment's tables.
  void ForgetThoseOf(absl::string_view experiment, Forgotten* forgotten);
  // Forgets writers that have been away too long. Also returns those that have just left, so that they can be shrunk.
  void Tend(absl::Time now, Forgotten* forgotten, std::vector<std::shared_ptr<WriterSession>>* just_gone);
  // Forgets writers that are away while those keep too many bytes alive.
  void ForgetForBytes(Forgotten* forgotten);

  int64_t size() const { return Sessions() + static_cast<int64_t>(saved_.size()); }
  int64_t held_bytes() const;  // See WriterSession::held_bytes.
  // The number of sessions that write to this experiment's tables, and their held bytes.
  std::pair<int64_t, int64_t> CountThoseOf(absl::string_view experiment) const;
  // The unanswered blocks of each table's writers. A block for several tables counts at each.
  std::map<std::string, WriterSession::Unanswered> unanswered() const;

 private:
  struct Writer {
    std::shared_ptr<WriterSession> session;
    uint64_t opened = 0;                             // Number of its last opening among all openings.
    absl::Time away_since = absl::InfiniteFuture();  // As Tend last saw.

    // True if no stream of it is open and it does not wait in a table.
    bool away() const { return session.use_count() == 1; }
  };
  using Writers = std::map<std::string, Writer>;
  using SavedWriters = std::map<std::string, std::shared_ptr<const SavedWriter>>;

  int64_t Sessions() const { return static_cast<int64_t>(writers_.size()); }
  // False if max_writers are connected.
  bool HasRoom() { return Sessions() < options_.max_writers || LongestAway() != writers_.end(); }
  // Makes room for one more writer, if possible.
  void MakeRoom(Forgotten* forgotten);
  // Called when a writer comes or comes back.
  void SetOpened(const std::string& id, const std::shared_ptr<WriterSession>& session);
  // The writer that has been away longest; the end if all are connected.
  Writers::iterator LongestAway();
  void Forget(Writers::iterator writer, Forgotten* forgotten);
  // Forgets the writer with this id if it has another incarnation and has ended.
  void ForgetEnded(const std::string& id, uint64_t incarnation, Forgotten* forgotten);
  void ForgetSaved(SavedWriters::iterator writer, Forgotten* forgotten);
  // Both return null if the writer is unknown.
  std::shared_ptr<const SavedWriter> FindForgotten(const std::string& id, uint64_t incarnation,
                                                   const Tables& tables) const;
  absl::StatusOr<std::shared_ptr<const SavedWriter>> FindSaved(const std::string& id, const Tables& tables,
                                                               const std::vector<ArraySpec>& signature);

  const KnownWritersOptions options_;
  const WriterSessionOptions writer_options_;
  const WriterAccounts memory_;
  TableLog* const log_;
  Writers writers_;
  SavedWriters saved_;  // By id.
  ForgottenWriters forgotten_;
  uint64_t openings_ = 0;
  absl::Time saved_since_ = absl::InfiniteFuture();  // As Tend last saw.
};

}  // namespace waggle
