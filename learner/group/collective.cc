#include "learner/group/collective.h"

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"
#include "common/nn/torch_compat.h"
#include "learner/group/c10d.h"
#include "learner/group/c10d_store.h"

namespace waggle {

#if WAGGLE_WITH_GLOO

namespace {

// The time to connect, once all members have come.
constexpr std::chrono::seconds kConnectTimeout(10);
// A step may wait as long as another learner waits for items. The hub's word usually ends an operation earlier.
constexpr std::chrono::minutes kOperationTimeout(10);

class GlooGroup final : public c10d::ProcessGroupGloo {
 public:
  using c10d::ProcessGroupGloo::ProcessGroupGloo;

  void SetTimeout(std::chrono::milliseconds timeout) {
    for (const auto& context : contexts_) {
      context->setTimeout(timeout);
    }
  }
  // May be called from any thread. The other members see it at once; an operation that waits here does not.
  void Close() {
    for (const auto& context : contexts_) {
      context->closeConnections();
    }
  }
};

// Tells waiting threads that an operation has ended, or that they need not wait any more.
struct Waiting {
  Mutex mutex;
  CondVar changed;
  bool done ABSL_GUARDED_BY(mutex) = false;
  bool abandoned ABSL_GUARDED_BY(mutex) = false;
  std::set<c10::intrusive_ptr<c10d::Work>> transfers ABSL_GUARDED_BY(mutex);  // Running ones.
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(c10::intrusive_ptr<GlooGroup> group, int size, const StopToken& abandoned)
      : group_(std::move(group)), size_(size), on_abandoned_(abandoned, [group = group_, waiting = waiting_] {
          group->Close();
          MutexLock lock(&waiting->mutex);
          waiting->abandoned = true;
          waiting->changed.SignalAll();
          for (const auto& transfer : waiting->transfers) {
            transfer->abort();
          }
        }) {}

  ~GlooCollective() override {
    if (pending_ != nullptr) {
      // Only its timeout ends a Gloo operation that waits for a peer that hangs. The destructor and the end of the
      // process must not wait for that; the thread owns all that it uses.
      std::thread([group = std::move(group_), pending = std::move(pending_)]() mutable {
        CatchTorch("waiting", [&] { pending->wait(); }).IgnoreError();
        pending.reset();
        group.reset();
      }).detach();
    }
  }

  absl::Status Average(torch::Tensor tensor) override {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> tensors = {tensor.is_cpu() && tensor.is_contiguous() ? tensor
                                                                                    : tensor.cpu().contiguous()};
    WAGGLE_RETURN_IF_ERROR(Do("averaging", [&] { return group_->allreduce(tensors); }));
    tensors[0].div_(size_);
    if (!tensors[0].is_same(tensor)) {
      tensor.copy_(tensors[0]);
    }
    return absl::OkStatus();
  }

  absl::Status Broadcast(void* data, int64_t size, int root) override {
    if (size == 0) {
      return absl::OkStatus();
    }
    // A copy: an abandoned operation may still write to it.
    std::vector<torch::Tensor> tensors = {torch::from_blob(data, {size}, torch::kUInt8).clone()};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    WAGGLE_RETURN_IF_ERROR(Do("broadcasting", [&] { return group_->broadcast(tensors, options); }));
    std::memcpy(data, tensors[0].data_ptr(), static_cast<size_t>(size));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> Gather(int64_t value) override {
    std::vector<std::vector<torch::Tensor>> all(1);
    for (int rank = 0; rank < size_; ++rank) {
      all[0].push_back(torch::zeros({1}, torch::kInt64));
    }
    std::vector<torch::Tensor> own = {torch::full({1}, value, torch::kInt64)};
    WAGGLE_RETURN_IF_ERROR(Do("gathering", [&] { return group_->allgather(all, own); }));
    std::vector<int64_t> values;
    for (const torch::Tensor& one : all[0]) {
      values.push_back(one.item<int64_t>());
    }
    return values;
  }

  absl::Status Send(const torch::Tensor& tensor, int to) override {
    std::vector<torch::Tensor> tensors = {tensor};
    return Transfer("sending", [&] { return group_->send(tensors, to, /*tag=*/0); });
  }

  absl::Status Receive(torch::Tensor tensor, int from) override {
    std::vector<torch::Tensor> tensors = {std::move(tensor)};
    return Transfer("receiving", [&] { return group_->recv(tensors, from, /*tag=*/0); });
  }

 private:
  // Begins a transfer between two members, and waits for its end.
  template <class Function>
  absl::Status Transfer(const char* what, const Function& begin) {
    const std::string name = absl::StrCat(what, " over the group");
    c10::intrusive_ptr<c10d::Work> work;
    absl::Status status;
    {
      MutexLock lock(&waiting_->mutex);
      if (waiting_->abandoned) {
        return absl::AbortedError(absl::StrCat(name, ": the group is abandoned"));
      }
      status = CatchTorch(name, [&] { work = begin(); });
      if (status.ok()) {
        waiting_->transfers.insert(work);
      }
    }
    if (status.ok()) {
      bool done = false;
      status = CatchTorch(name, [&] { done = work->wait(); });
      MutexLock lock(&waiting_->mutex);
      waiting_->transfers.erase(work);
      if (status.ok() && !done) {
        status = absl::AbortedError(absl::StrCat(name, ": the group is abandoned"));
      }
    }
    return status.ok() ? status : absl::AbortedError(status.message());
  }

  // Begins an operation and waits for its end.
  template <class Function>
  absl::Status Do(const char* what, const Function& begin) {
    {
      MutexLock lock(&waiting_->mutex);
      waiting_->done = false;
      if (waiting_->abandoned) {
        return absl::AbortedError(absl::StrCat(what, ": the group is abandoned"));
      }
    }
    absl::Status status = CatchTorch(absl::StrCat(what, " over the group"), [&] {
      pending_ = begin();
      pending_->getFuture()->addCallback([waiting = waiting_](c10::ivalue::Future&) {
        MutexLock lock(&waiting->mutex);
        waiting->done = true;
        waiting->changed.SignalAll();
      });
    });
    if (status.ok()) {
      MutexLock lock(&waiting_->mutex);
      while (!waiting_->done && !waiting_->abandoned) {
        waiting_->changed.Wait(&waiting_->mutex);
      }
      if (!waiting_->done) {
        return absl::AbortedError(absl::StrCat(what, ": the group is abandoned"));
      }
    }
    if (status.ok()) {
      status = CatchTorch(absl::StrCat(what, " over the group"), [&] { pending_->wait(); });
    }
    pending_.reset();
    return status.ok() ? status : absl::AbortedError(status.message());
  }

  c10::intrusive_ptr<GlooGroup> group_;
  const int size_;
  c10::intrusive_ptr<c10d::Work> pending_;  // The running operation.
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  const StopToken::Callback on_abandoned_;  // Last: it uses the other members.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Collective>> Collective::Connect(const CollectiveOptions& options, KeyStore* store,
                                                                const StopToken& abandoned) {
  // First all members come, which may take any time; then connecting depends only on the network.
  std::vector<std::string> members;
  for (int rank = 0; rank < options.size; ++rank) {
    members.push_back(absl::StrCat("here/", rank));
  }
  absl::Status come = store->Set(members[static_cast<size_t>(options.rank)], "", abandoned);
  if (come.ok()) {
    come = store->Get(members, /*wait=*/true, abandoned).status();
  }
  if (!come.ok()) {
    return absl::AbortedError(absl::StrCat("meeting the others of the group: ", come.message()));
  }
  auto connected = CatchTorch("connecting to the others of the group", [&]() -> std::unique_ptr<Collective> {
    const auto c10d_options = GlooGroup::Options::create(kConnectTimeout);
    c10d_options->devices = {GlooGroup::createDeviceForHostname(options.host)};
    c10d_options->threads = 1;
    auto group = c10::make_intrusive<GlooGroup>(c10::make_intrusive<C10dStore>(store, abandoned), options.rank,
                                                options.size, c10d_options);
    group->SetTimeout(kOperationTimeout);
    return std::make_unique<GlooCollective>(std::move(group), options.size, abandoned);
  });
  if (!connected.ok()) {
    return absl::AbortedError(connected.status().message());
  }
  return connected;
}

#else

absl::StatusOr<std::unique_ptr<Collective>> Collective::Connect(const CollectiveOptions& /*options*/,
                                                                KeyStore* /*store*/, const StopToken& /*abandoned*/) {
  return absl::UnimplementedError("this Waggle was built without Gloo, over which several learners train together");
}

#endif

}  // namespace waggle
