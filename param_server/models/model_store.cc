#include "param_server/models/model_store.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/check.h"
#include "common/base/reason.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {

absl::Status ModelStoreOptions::Validate() const {
  if (max_bytes <= 0 || max_models <= 0 || max_holders <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("max_bytes, max_models and max_holders must be positive; got ",
                                                   max_bytes, ", ", max_models, " and ", max_holders));
  }
  return absl::OkStatus();
}

std::string DebugString(const ModelVersion& version) {
  return absl::StrCat("epoch ", version.epoch, ", version ", version.version);
}

absl::Status ValidateModel(const ModelSnapshot& header, uint64_t bytes) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(header.model), "model name"));
  std::set<absl::string_view> names;
  uint64_t sum = 0;
  for (const ArraySpec& tensor : header.tensors) {
    WAGGLE_RETURN_IF_ERROR(Annotate(tensor.Validate(), absl::StrCat("model ", header.model)));
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("model ", header.model, " has two tensors named ", tensor.name));
    }
    // Cannot overflow: each is at most kMaxArrayBytes, and the sum may not pass `bytes` by more than one of them.
    sum += static_cast<uint64_t>(tensor.NumBytes());
    if (sum > bytes) {
      break;
    }
  }
  if (sum != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("model ", header.model, ": its tensors take ",
                                                   sum > bytes ? "more than " : "", sum > bytes ? bytes : sum,
                                                   " bytes together; got ", bytes));
  }
  return absl::OkStatus();
}

ModelStore::ModelStore(const ModelStoreOptions& options) : options_(options) {
  WAGGLE_CHECK(options.Validate().ok(), "the caller validates the options");
}

ModelStore::~ModelStore() = default;

absl::Status ModelStore::Publish(ModelSnapshot snapshot) {
  WAGGLE_RETURN_IF_ERROR(ValidateModel(snapshot, snapshot.data.size()));
  auto model = std::make_shared<StoredModel>();
  model->checksum = Checksum(snapshot.data);
  model->snapshot = std::move(snapshot);
  return PublishChecked(std::move(model), /*reserved=*/0);
}

std::shared_ptr<const StoredModel> ModelStore::Newest(absl::string_view model) const {
  MutexLock lock(&mutex_);
  const auto it = models_.find(model);
  return it == models_.end() ? nullptr : it->second;
}

void ModelStore::Hold(const std::string& holder, std::shared_ptr<const StoredModel> model) {
  std::vector<Held> dropped;  // Destroyed outside the lock, as below.
  HeldModels evicted;
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  HeldModels& models = held_[holder];
  models.push_back({std::move(model), now});
  DropLeftLocked(now, &models, &dropped);
  if (static_cast<int64_t>(held_.size()) > options_.max_holders) {
    const auto longest = std::min_element(held_.begin(), held_.end(), [&holder](const auto& a, const auto& b) {
      return b.first == holder || (a.first != holder && a.second.back().since < b.second.back().since);
    });
    evicted = std::move(longest->second);
    held_.erase(longest);
  }
}

void ModelStore::KeepHolders(const std::function<bool(const std::string& holder)>& stays) {
  std::vector<HeldModels> gone;
  std::vector<Held> dropped;
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  for (auto it = held_.begin(); it != held_.end();) {
    if (stays(it->first)) {
      DropLeftLocked(now, &it->second, &dropped);
      ++it;
    } else {
      gone.push_back(std::move(it->second));
      it = held_.erase(it);
    }
  }
}

void ModelStore::DropLeftLocked(absl::Time now, HeldModels* models, std::vector<Held>* dropped) const {
  // The holder left each version when it pulled the next one.
  while (models->size() > 1 && now - (*models)[1].since >= options_.hold_after) {
    dropped->push_back(std::move(models->front()));
    models->pop_front();
  }
}

std::shared_ptr<const StoredModel> ModelStore::Find(absl::string_view model, const ModelVersion& version) const {
  const auto matches = [&](const std::shared_ptr<const StoredModel>& stored) {
    return stored->snapshot.model == model && stored->snapshot.version == version;
  };
  MutexLock lock(&mutex_);
  for (const ByName* by_name : {&models_, &best_}) {
    if (const auto it = by_name->find(model); it != by_name->end() && matches(it->second)) {
      return it->second;
    }
  }
  for (const auto& [holder, models] : held_) {
    for (const Held& held : models) {
      if (matches(held.model)) {
        return held.model;
      }
    }
  }
  return nullptr;
}

std::shared_ptr<const StoredModel> ModelStore::SetBest(std::shared_ptr<const StoredModel> model) {
  MutexLock lock(&mutex_);
  return std::exchange(best_[model->snapshot.model], model);
}

std::shared_ptr<const StoredModel> ModelStore::Best(absl::string_view model) const {
  MutexLock lock(&mutex_);
  const auto it = best_.find(model);
  return it == best_.end() ? nullptr : it->second;
}

std::unique_ptr<ModelStore::Subscription> ModelStore::Watch(absl::string_view model, std::function<void()> listener) {
  MutexLock lock(&mutex_);
  const int64_t id = next_watcher_++;
  watchers_.emplace(id, Watcher{std::string(model), std::move(listener)});
  return std::unique_ptr<Subscription>(new Subscription(this, id));
}

void ModelStore::WakeAll() {
  std::vector<std::function<void()>> listeners;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, watcher] : watchers_) {
      listeners.push_back(watcher.listener);
    }
  }
  for (const std::function<void()>& listener : listeners) {
    listener();
  }
}

ModelStore::Subscription::~Subscription() {
  std::function<void()> listener;  // Destroyed outside the lock.
  MutexLock lock(&store_->mutex_);
  const auto it = store_->watchers_.find(id_);
  listener = std::move(it->second.listener);
  store_->watchers_.erase(it);
}

absl::Status ModelStore::Reserve(const ModelSnapshot& header, int64_t bytes) {
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(CheckLocked(header, bytes));
  reserved_bytes_ += bytes;
  return absl::OkStatus();
}

void ModelStore::Release(int64_t bytes) {
  MutexLock lock(&mutex_);
  reserved_bytes_ -= bytes;
}

absl::Status ModelStore::PublishChecked(std::shared_ptr<StoredModel> model, int64_t reserved) {
  const int64_t bytes = static_cast<int64_t>(model->snapshot.data.size());
  std::shared_ptr<const StoredModel> replaced;  // Destroyed outside the lock: freeing a large block takes a while.
  std::vector<std::function<void()>> listeners;
  {
    MutexLock lock(&mutex_);
    reserved_bytes_ -= reserved;
    WAGGLE_RETURN_IF_ERROR(CheckLocked(model->snapshot, bytes));
    for (const auto& [id, watcher] : watchers_) {
      if (watcher.model == model->snapshot.model) {
        listeners.push_back(watcher.listener);
      }
    }
    replaced = std::exchange(models_[model->snapshot.model], model);
  }
  for (const std::function<void()>& listener : listeners) {
    listener();
  }
  return absl::OkStatus();
}

absl::Status ModelStore::CheckLocked(const ModelSnapshot& header, int64_t bytes) const {
  const auto it = models_.find(header.model);
  const StoredModel* leaving = nullptr;
  if (it != models_.end()) {
    const ModelSnapshot& newest = it->second->snapshot;
    if (!(newest.version < header.version)) {
      const absl::Status refusal = absl::FailedPreconditionError(
          absl::StrCat("model ", header.model, ": ", DebugString(header.version),
                       " is not newer than what is published (", DebugString(newest.version), ")"));
      return header.version.epoch < newest.version.epoch ? WithReason(reasons::kLaterLearner, refusal) : refusal;
    }
    leaving = it->second.get();
  } else if (static_cast<int64_t>(models_.size()) >= options_.max_models) {
    return absl::ResourceExhaustedError(
        absl::StrCat("model ", header.model, ": there are ", models_.size(), " models, as many as are allowed"));
  }
  if (bytes > options_.max_bytes - BytesLocked(leaving) - reserved_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("model ", header.model, ": ", bytes, " bytes are more than the limit leaves: ",
                     BytesLocked(nullptr) + reserved_bytes_, " of ", options_.max_bytes, " are taken"));
  }
  return absl::OkStatus();
}

int64_t ModelStore::BytesLocked(const StoredModel* leaving) const {
  std::set<const StoredModel*> kept;
  for (const auto& [name, model] : models_) {
    if (model.get() != leaving) {
      kept.insert(model.get());
    }
  }
  for (const auto& [name, model] : best_) {
    kept.insert(model.get());
  }
  for (const auto& [holder, models] : held_) {
    kept.insert(models.back().model.get());
  }
  return std::accumulate(kept.begin(), kept.end(), int64_t{0}, [](int64_t sum, const StoredModel* model) {
    return sum + static_cast<int64_t>(model->snapshot.data.size());
  });
}

}  // namespace waggle
