#include "replay_server/table/table_client.h"

#include <algorithm>
#include <utility>

#include "common/base/steady_now.h"

namespace waggle {
namespace {

absl::Duration FromNanoseconds(int64_t ns) {
  return ns == 0 ? -absl::InfiniteDuration() : absl::Nanoseconds(ns);
}

// True if only the list has it.
bool IsGone(const std::shared_ptr<TableClient>& client) {
  return client.use_count() == 1;
}

}  // namespace

void TableClient::Count(int64_t items, int64_t now_ns) {
  items_.store(items_.load(std::memory_order_relaxed) + items, std::memory_order_relaxed);
  last_ns_.store(now_ns, std::memory_order_relaxed);
}

absl::Duration TableClient::last_counted() const {
  return FromNanoseconds(last_ns_.load(std::memory_order_relaxed));
}

void TableClient::NoteSampleRequest(uint32_t waits_for, int64_t now_ns) {
  if (requested_items_.load(std::memory_order_relaxed) == 0 && waits_for > 0) {
    requested_since_ns_.store(now_ns, std::memory_order_relaxed);
  }
  requested_items_.store(waits_for, std::memory_order_relaxed);
}

absl::Duration TableClient::requested_since() const {
  return FromNanoseconds(requested_since_ns_.load(std::memory_order_relaxed));
}

absl::Duration TableClient::left() const {
  return FromNanoseconds(left_ns_.load(std::memory_order_relaxed));
}

TableClient::Connection::Connection(std::vector<std::shared_ptr<TableClient>> clients) : clients_(std::move(clients)) {
  for (const std::shared_ptr<TableClient>& client : clients_) {
    client->connections_.fetch_add(1, std::memory_order_relaxed);
  }
}

TableClient::Connection& TableClient::Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    End();
    clients_.swap(other.clients_);
  }
  return *this;
}

void TableClient::Connection::End() {
  for (const std::shared_ptr<TableClient>& client : clients_) {
    client->left_ns_.store(CoarseSteadyNanoseconds(), std::memory_order_relaxed);
    client->connections_.fetch_sub(1, std::memory_order_relaxed);
  }
  clients_.clear();
}

std::shared_ptr<TableClient> TableClients::Add(TableClient::Kind kind, absl::string_view name) {
  MutexLock lock(&mutex_);
  for (const std::shared_ptr<TableClient>& client : clients_) {
    if (client->kind() == kind && client->name() == name && IsGone(client)) {
      return client;
    }
  }
  ForgetLocked();
  clients_.push_back(std::make_shared<TableClient>(kind, std::string(name)));
  return clients_.back();
}

void TableClients::ForgetLocked() {
  const auto gone = static_cast<size_t>(std::count_if(clients_.begin(), clients_.end(), IsGone));
  if (gone < kMaxGone) {
    return;
  }
  auto longest = clients_.end();
  for (auto it = clients_.begin(); it != clients_.end(); ++it) {
    if (IsGone(*it) && (longest == clients_.end() || (*it)->left() < (*longest)->left())) {
      longest = it;
    }
  }
  clients_.erase(longest);
}

std::vector<std::shared_ptr<const TableClient>> TableClients::all() const {
  MutexLock lock(&mutex_);
  return {clients_.begin(), clients_.end()};
}

}  // namespace waggle
