#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/mutex.h"
#include "replay_server/items/table_log.h"

namespace waggle::testing {

// A log that writes nothing, and answers when the test says so.
class HeldLog final : public TableLog {
 public:
  absl::Status status() const override { return absl::OkStatus(); }
  void AfterCommit(Answer answer) override {
    {
      MutexLock lock(&mutex_);
      if (held_) {
        answers_.push_back(std::move(answer));
        return;
      }
    }
    answer(absl::OkStatus());
  }
  const std::shared_ptr<BlockLedger>& ledger() const override { return ledger_; }
  uint64_t NewNumber() override { return ledger_->NewId(); }
  void AddTable(std::shared_ptr<Table> /*table*/, const std::shared_ptr<Table>& /*replaced*/) override {}
  void DropTable(const std::shared_ptr<Table>& /*table*/) override {}
  void AddWriter(const std::string& /*id*/, std::weak_ptr<WriterSession> /*session*/) override {}
  void ForgetWriter(uint64_t number) override {
    MutexLock lock(&mutex_);
    forgotten_.push_back(number);
  }

  // From now on answers wait.
  void Hold() {
    MutexLock lock(&mutex_);
    held_ = true;
  }
  // Answers the waiting calls, and returns their number.
  size_t AnswerAll(const absl::Status& status) {
    std::vector<TableLog::Answer> answers;
    {
      MutexLock lock(&mutex_);
      answers.swap(answers_);
    }
    for (const TableLog::Answer& answer : answers) {
      answer(status);
    }
    return answers.size();
  }
  // The numbers of forgotten writers.
  std::vector<uint64_t> forgotten() const {
    MutexLock lock(&mutex_);
    return forgotten_;
  }

 private:
  const std::shared_ptr<BlockLedger> ledger_ = std::make_shared<BlockLedger>(1);
  mutable Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<TableLog::Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> forgotten_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle::testing
