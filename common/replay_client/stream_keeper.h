#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/stopwatch.h"
#include "common/base/thread.h"

namespace waggle {

struct StreamKeeperOptions {
  std::string name;  // For the log: "inserting at 10.0.0.1:7001".
  // Opens the stream and returns at once. `ended` is to be called once, from any thread, when the stream has ended.
  std::function<void(std::function<void(absl::Status)> ended)> open;
  // Makes an open stream end soon, and every later one; called once.
  std::function<void()> cancel;
  // Makes what the server says is NOT_FOUND, as far as this process can. An error that may pass (MayPass) is no reason
  // to give up.
  std::function<absl::Status(const StopToken&)> restore;
  // Called with an error that no attempt can mend; nothing is opened after that.
  std::function<void(absl::Status)> failed;
  // How long a server that is there may answer NOT_FOUND, whatever was restored, before it is such an error.
  absl::Duration not_found_patience = absl::Seconds(5);
};

// Keeps a stream open, from a thread of its own: opens it, waits until it has ended, and opens it again after a
// jittered pause.
class StreamKeeper {
 public:
  explicit StreamKeeper(StreamKeeperOptions options);
  // Cancels the stream and waits until it has ended.
  ~StreamKeeper();
  StreamKeeper(const StreamKeeper&) = delete;
  StreamKeeper& operator=(const StreamKeeper&) = delete;

  // The server has answered: the next pause is a short one again. Thread-safe.
  void Opened() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // What the stream ended with is NOT_FOUND: restores it. Returns an error if there is no more point in trying;
  // `missing` is when it was first missed, empty while the server is not there to be asked.
  absl::Status Restore(const absl::Status& status, std::optional<Stopwatch>* missing);
  // Opens the stream and waits for its end.
  absl::Status RunStream() ABSL_LOCKS_EXCLUDED(mutex_);

  const StreamKeeperOptions options_;
  const StopToken stop_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);  // The current stream, once it has.
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;                // The server has answered on it.
  bool away_ ABSL_GUARDED_BY(mutex_) = false;                  // An attempt has failed and none succeeded since.
  Thread thread_;                                              // Last: it uses everything above.
};

}  // namespace waggle
