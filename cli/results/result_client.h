#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "waggle/v1/results.grpc.pb.h"

namespace waggle {

// Fetches the files of a hub's experiments. Thread-safe.
class ResultClient {
 public:
  // HOST:PORT of the parameter server. Connects when first used.
  explicit ResultClient(const std::string& param_server);

  // The files that an experiment has. INVALID_ARGUMENT if the answer has a name that is no result's, so that no answer
  // can lead out of a folder. FAILED_PRECONDITION if the hub is of a version without results.
  absl::StatusOr<v1::ListResultsResponse> List(const std::string& id, const StopToken& stop) const;

  // Writes a file of a listing to `path`, which must not exist. A broken transfer goes on where it ended; the hub may
  // be away for `patience`. NOT_FOUND or ABORTED if the file has changed: list again. CANCELLED after a stop.
  absl::Status Fetch(const std::string& id, const v1::ResultFile& file, const std::string& path,
                     absl::Duration patience, const StopToken& stop) const;

 private:
  const std::string param_server_;
  const std::unique_ptr<v1::ResultService::Stub> stub_;
};

// True for a name that a listing may have: one to three parts, which begin with a letter or digit.
bool IsResultName(const std::string& name);

}  // namespace waggle
