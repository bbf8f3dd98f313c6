#include "learner/group/c10d_store.h"

#if WAGGLE_WITH_GLOO

#include <stdexcept>

namespace waggle {
namespace {

void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error(std::string(status.message()));
  }
}

}  // namespace

void C10dStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  ThrowIfError(store_->Set(key, std::string(value.begin(), value.end()), stop_));
}

std::vector<uint8_t> C10dStore::get(const std::string& key) {
  const absl::StatusOr<std::vector<std::string>> values = store_->Get({key}, /*wait=*/true, stop_);
  ThrowIfError(values.status());
  return std::vector<uint8_t>(values->front().begin(), values->front().end());
}

int64_t C10dStore::add(const std::string& key, int64_t value) {
  const absl::StatusOr<int64_t> sum = store_->Add(key, value, stop_);
  ThrowIfError(sum.status());
  return *sum;
}

bool C10dStore::deleteKey(const std::string& key) {
  const absl::StatusOr<bool> existed = store_->Delete(key, stop_);
  ThrowIfError(existed.status());
  return *existed;
}

bool C10dStore::check(const std::vector<std::string>& keys) {
  const absl::Status status = store_->Get(keys, /*wait=*/false, stop_).status();
  ThrowIfError(absl::IsNotFound(status) ? absl::OkStatus() : status);
  return status.ok();
}

int64_t C10dStore::getNumKeys() {
  throw std::runtime_error("the hub does not count the keys of a group");
}

void C10dStore::wait(const std::vector<std::string>& keys) {
  ThrowIfError(store_->Get(keys, /*wait=*/true, stop_).status());
}

void C10dStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& /*timeout*/) {
  wait(keys);
}

}  // namespace waggle

#endif
