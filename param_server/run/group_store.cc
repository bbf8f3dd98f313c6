#include "param_server/run/group_store.h"

#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

void GroupStore::Begin(uint64_t epoch) {
  std::map<int64_t, Waiting> waiting;
  {
    MutexLock lock(&mutex_);
    epoch_ = epoch;
    values_.clear();
    bytes_ = 0;
    waiting.swap(waiting_);
  }
  for (auto& [number, one] : waiting) {
    one.reply(absl::FailedPreconditionError(absl::StrCat("the group of epoch ", epoch, " has been formed since")));
  }
}

absl::Status GroupStore::CheckLocked(uint64_t epoch, const std::string& key) const {
  if (epoch != epoch_ || epoch == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the group of learners has epoch ", epoch_, "; got epoch ", epoch));
  }
  if (key.size() > options_.max_key_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("key: got ", key.size(), " bytes; wanted at most ", options_.max_key_bytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status GroupStore::PutLocked(const std::string& key, const std::string& value) {
  if (value.size() > options_.max_value_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("value: got ", value.size(), " bytes; wanted at most ", options_.max_value_bytes, " bytes"));
  }
  const auto old = values_.find(key);
  const size_t bytes =
      bytes_ + value.size() + key.size() - (old == values_.end() ? 0 : key.size() + old->second.size());
  if (bytes > options_.max_bytes || (old == values_.end() && values_.size() == options_.max_keys)) {
    return absl::ResourceExhaustedError(absl::StrCat("the map is full: ", values_.size(), " keys, ", bytes_, " bytes"));
  }
  bytes_ = bytes;
  values_[key] = value;
  return absl::OkStatus();
}

absl::Status GroupStore::Set(uint64_t epoch, const std::string& key, const std::string& value) {
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(CheckLocked(epoch, key));
    WAGGLE_RETURN_IF_ERROR(PutLocked(key, value));
  }
  AnswerWaiting();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> GroupStore::Add(uint64_t epoch, const std::string& key, int64_t amount) {
  int64_t sum = 0;
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(CheckLocked(epoch, key));
    int64_t number = 0;
    if (const auto old = values_.find(key); old != values_.end() && !absl::SimpleAtoi(old->second, &number)) {
      return absl::InvalidArgumentError(absl::StrCat("the value of ", absl::CHexEscape(key), " is not a number"));
    }
    if (__builtin_add_overflow(number, amount, &sum)) {
      return absl::InvalidArgumentError(absl::StrCat(number, " + ", amount, " does not fit into 64 bits"));
    }
    WAGGLE_RETURN_IF_ERROR(PutLocked(key, absl::StrCat(sum)));
  }
  AnswerWaiting();
  return sum;
}

absl::StatusOr<bool> GroupStore::Delete(uint64_t epoch, const std::string& key) {
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(CheckLocked(epoch, key));
  const auto old = values_.find(key);
  if (old == values_.end()) {
    return false;
  }
  bytes_ -= key.size() + old->second.size();
  values_.erase(old);
  return true;
}

absl::StatusOr<std::vector<std::string>> GroupStore::FindLocked(const std::vector<std::string>& keys) const {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const auto value = values_.find(key);
    if (value == values_.end()) {
      return absl::NotFoundError(absl::StrCat("there is no key ", absl::CHexEscape(key)));
    }
    values.push_back(value->second);
  }
  return values;
}

std::optional<int64_t> GroupStore::Get(uint64_t epoch, const std::vector<std::string>& keys, bool wait, Reply reply) {
  absl::StatusOr<std::vector<std::string>> values;
  {
    MutexLock lock(&mutex_);
    absl::Status status = keys.size() > options_.max_asked
                              ? absl::ResourceExhaustedError(absl::StrCat(
                                    keys.size(), " keys in one call; wanted at most ", options_.max_asked, " keys"))
                              : CheckLocked(epoch, "");
    for (const std::string& key : keys) {
      status.Update(CheckLocked(epoch, key));
    }
    values = status.ok() ? FindLocked(keys) : std::move(status);
    if (wait && absl::IsNotFound(values.status())) {
      if (waiting_.size() < options_.max_waiting) {
        waiting_[next_number_] = {keys, std::move(reply)};
        return next_number_++;
      }
      values = absl::ResourceExhaustedError(absl::StrCat(waiting_.size(), " calls wait for keys already"));
    }
  }
  reply(std::move(values));
  return std::nullopt;
}

void GroupStore::AnswerWaiting() {
  std::vector<std::pair<Reply, std::vector<std::string>>> answers;
  {
    MutexLock lock(&mutex_);
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      absl::StatusOr<std::vector<std::string>> values = FindLocked(one->second.keys);
      if (values.ok()) {
        answers.emplace_back(std::move(one->second.reply), *std::move(values));
      }
      one = values.ok() ? waiting_.erase(one) : std::next(one);
    }
  }
  for (auto& [reply, values] : answers) {
    reply(std::move(values));
  }
}

void GroupStore::Forget(int64_t number) {
  Reply reply;
  {
    MutexLock lock(&mutex_);
    const auto one = waiting_.find(number);
    if (one == waiting_.end()) {
      return;
    }
    reply = std::move(one->second.reply);
    waiting_.erase(one);
  }
  reply(absl::CancelledError("the call was broken off"));
}

}  // namespace waggle
