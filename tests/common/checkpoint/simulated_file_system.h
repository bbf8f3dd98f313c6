#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/file_system.h"

namespace waggle::testing {

// A file system in memory that knows what a power cut would leave, and fails where a test wants it to.
class SimulatedFileSystem : public FileSystem {
 public:
  // What a power cut leaves of changes that were not synced: all, the names of files but not their bytes, or nothing.
  enum class Leaves { kAll, kNames, kNothing };

  // Operation `index`, counted from 0 at this call, fails with `error`; with `dead`, all after it do too.
  void FailAt(int64_t index, absl::Status error, bool dead) {
    operations_ = 0;
    fail_at_ = index;
    error_ = std::move(error);
    dead_ = dead;
  }
  void FailNothing() { fail_at_.reset(); }
  // Since the last FailAt().
  int64_t operations() const { return operations_; }

  void CutPower(Leaves leaves) {
    locked_->clear();  // Its holders are gone too.
    if (leaves != Leaves::kAll) {
      CutPower(leaves, root_.get());
    }
  }

  // The bytes of a file, to be looked at or damaged; null if there is no such file.
  std::string* Bytes(const std::string& path) {
    const std::shared_ptr<Node> node = Find(path);
    return node == nullptr ? nullptr : &node->bytes;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Node> node, Create(path));
    return std::make_unique<Writer>(this, std::move(node));
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    const std::shared_ptr<Node> node = Find(path);
    if (node == nullptr) {
      return absl::NotFoundError(absl::StrCat("no ", path));
    }
    return std::make_unique<Reader>(node->bytes);
  }

  // Is no operation and makes no file: locks are not what a crash leaves. The lock of a folder that is
  // removed is no one's any more.
  absl::StatusOr<std::unique_ptr<FileLock>> LockFile(const std::string& path) override {
    const auto token = std::make_shared<int>();
    if (!locked_->emplace(path, token).second) {
      return absl::UnavailableError(absl::StrCat(path, " is locked"));
    }
    return std::make_unique<Lock>(path, token, locked_);
  }

  absl::Status CreateFolder(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    return Create(path).status();
  }

  // One level suffices for the tests.
  absl::Status CreateFolders(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    if (Find(path) == nullptr) {
      WAGGLE_RETURN_IF_ERROR(Create(path).status());
    }
    root_->synced_entries = root_->entries;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    const std::shared_ptr<Node> folder = Find(path);
    if (folder == nullptr) {
      return absl::NotFoundError(absl::StrCat("no ", path));
    }
    std::vector<std::string> names;
    for (const auto& [name, node] : folder->entries) {
      names.push_back(name);
    }
    return names;
  }

  absl::Status SyncFolder(const std::string& path) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    const std::shared_ptr<Node> folder = Find(path);
    folder->synced_entries = folder->entries;
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    WAGGLE_RETURN_IF_ERROR(Operate());
    const std::shared_ptr<Node> node = Find(from);
    if (node == nullptr) {
      return absl::NotFoundError(absl::StrCat("no ", from));
    }
    if (Find(to) != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat(to, " exists"));
    }
    Find(ParentOf(from))->entries.erase(NameOf(from));
    Find(ParentOf(to))->entries[NameOf(to)] = node;
    return absl::OkStatus();
  }

  // Each entry is an operation, so that it can be cut short between any two.
  absl::Status RemoveAll(const std::string& path) override {
    const std::shared_ptr<Node> node = Find(path);
    if (node == nullptr) {
      return absl::OkStatus();
    }
    const std::map<std::string, std::shared_ptr<Node>> entries = node->entries;
    for (const auto& [name, entry] : entries) {
      WAGGLE_RETURN_IF_ERROR(RemoveAll(absl::StrCat(path, "/", name)));
    }
    WAGGLE_RETURN_IF_ERROR(Operate());
    Find(ParentOf(path))->entries.erase(NameOf(path));
    for (auto lock = locked_->lower_bound(path + "/"); lock != locked_->end() && ParentOf(lock->first) == path;) {
      lock = locked_->erase(lock);
    }
    return absl::OkStatus();
  }

 private:
  // A file or a folder, and what of it is on the device.
  struct Node {
    std::string bytes;
    std::string synced_bytes;
    std::map<std::string, std::shared_ptr<Node>> entries;
    std::map<std::string, std::shared_ptr<Node>> synced_entries;
  };

  class Writer : public WritableFile {
   public:
    Writer(SimulatedFileSystem* owner, std::shared_ptr<Node> node) : owner_(owner), node_(std::move(node)) {}

    absl::Status Append(absl::string_view bytes) override {
      const absl::Status status = owner_->Operate();
      // A write that fails may have done a part.
      absl::StrAppend(&node_->bytes, status.ok() ? bytes : bytes.substr(0, bytes.size() / 2));
      return status;
    }
    absl::Status Sync() override {
      WAGGLE_RETURN_IF_ERROR(owner_->Operate());
      node_->synced_bytes = node_->bytes;
      return absl::OkStatus();
    }
    absl::Status Close() override { return owner_->Operate(); }

   private:
    SimulatedFileSystem* const owner_;
    const std::shared_ptr<Node> node_;
  };

  class Reader : public ReadableFile {
   public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

    absl::StatusOr<int64_t> Size() const override { return static_cast<int64_t>(bytes_.size()); }
    absl::Status Read(char* destination, int64_t size) override {
      if (position_ + static_cast<size_t>(size) > bytes_.size()) {
        return absl::DataLossError("the file ends too early");
      }
      bytes_.copy(destination, static_cast<size_t>(size), position_);
      position_ += static_cast<size_t>(size);
      return absl::OkStatus();
    }

   private:
    const std::string bytes_;
    size_t position_ = 0;
  };

  // Path and token of each lock that is held.
  using Locked = std::map<std::string, std::shared_ptr<int>>;

  class Lock : public FileLock {
   public:
    Lock(std::string path, std::shared_ptr<int> token, std::shared_ptr<Locked> locked)
        : path_(std::move(path)), token_(std::move(token)), locked_(std::move(locked)) {}
    ~Lock() override {
      if (InPlace()) {
        locked_->erase(path_);
      }
    }
    // Not once power was cut or the folder was removed.
    bool InPlace() const override {
      const auto it = locked_->find(path_);
      return it != locked_->end() && it->second == token_;
    }

   private:
    const std::string path_;
    const std::shared_ptr<int> token_;
    const std::shared_ptr<Locked> locked_;
  };

  static void CutPower(Leaves leaves, Node* node) {
    node->bytes = node->synced_bytes;
    if (leaves == Leaves::kNothing) {
      node->entries = node->synced_entries;
    }
    node->synced_entries = node->entries;
    for (const auto& [name, entry] : node->entries) {
      CutPower(leaves, entry.get());
    }
  }

  static std::string ParentOf(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }
  static std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  std::shared_ptr<Node> Find(const std::string& path) const {
    std::shared_ptr<Node> node = root_;
    for (const absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
      const auto it = node->entries.find(std::string(name));
      if (it == node->entries.end()) {
        return nullptr;
      }
      node = it->second;
    }
    return node;
  }

  absl::StatusOr<std::shared_ptr<Node>> Create(const std::string& path) {
    const std::shared_ptr<Node> parent = Find(ParentOf(path));
    if (parent == nullptr) {
      return absl::NotFoundError(absl::StrCat("no folder for ", path));
    }
    auto node = std::make_shared<Node>();
    if (!parent->entries.emplace(NameOf(path), node).second) {
      return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
    }
    return node;
  }

  absl::Status Operate() {
    const int64_t index = operations_++;
    const bool fails = fail_at_.has_value() && (dead_ ? index >= *fail_at_ : index == *fail_at_);
    return fails ? error_ : absl::OkStatus();
  }

  const std::shared_ptr<Node> root_ = std::make_shared<Node>();
  const std::shared_ptr<Locked> locked_ = std::make_shared<Locked>();
  int64_t operations_ = 0;
  std::optional<int64_t> fail_at_;
  absl::Status error_;
  bool dead_ = false;
};

}  // namespace waggle::testing
