#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "param_server/models/model_store.h"

namespace waggle {

// The newest version of each model as encoded messages. All workers that pull it are sent the same copy of its bytes.
class EncodedModels {
 public:
  using Pieces = std::vector<grpc::ByteBuffer>;

  // The messages of a stored version. Keeps those of the newest version.
  std::shared_ptr<const Pieces> Get(const std::shared_ptr<const StoredModel>& model) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const StoredModel> model;
    std::shared_ptr<const Pieces> pieces;
  };
  Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
