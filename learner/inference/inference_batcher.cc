#include "learner/inference/inference_batcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// Makes room for `rows` rows of each leaf.
void Fit(const std::vector<size_t>& row_bytes, size_t rows, std::vector<std::vector<char>>* arrays) {
  arrays->resize(row_bytes.size());
  for (size_t i = 0; i < row_bytes.size(); ++i) {
    if ((*arrays)[i].size() < rows * row_bytes[i]) {
      (*arrays)[i].resize(rows * row_bytes[i]);
    }
  }
}

absl::Status Ended() {
  return absl::CancelledError("the learner computes no more actions");
}

}  // namespace

InferenceBatcher::InferenceBatcher(const InferenceOptions& options, Parts parts)
    : options_(options),
      policy_(std::move(parts.policy)),
      environment_(std::move(parts.environment)),
      layout_(environment_, policy_->columns(), policy_->private_columns()),
      actors_(parts.actors),
      lanes_(parts.lanes),
      all_lanes_(std::move(parts.all_lanes)),
      take_settings_(std::move(parts.take_settings)),
      metrics_(parts.metrics),
      thread_("inference", [this] { Run(); }) {}

InferenceBatcher::~InferenceBatcher() {
  Stop();
}

void InferenceBatcher::Stop() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
    changed_.SignalAll();
  }
  thread_.Join();
  std::deque<Request> left;
  {
    MutexLock lock(&mutex_);
    left.swap(queue_);
  }
  for (Request& request : left) {
    request.done(Ended());
  }
}

void InferenceBatcher::SetWeights(const ModelSnapshot& snapshot) {
  MutexLock lock(&mutex_);
  newer_ = snapshot;
  changed_.SignalAll();
}

absl::StatusOr<uint64_t> InferenceBatcher::Open(int64_t index, std::function<void()> replaced) {
  if (index < 0 || index >= actors_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("actor ", index, " asks for actions; there is room for ", actors_, " actors"));
  }
  std::function<void()> earlier;
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    for (const auto& [other, stream] : streams_) {
      if (stream.first_slot == index * lanes_) {
        number = other;
        earlier = stream.replaced;
      }
    }
    if (earlier != nullptr) {
      streams_.erase(number);
      DropRequestsLocked(number);
    }
    number = next_stream_++;
    streams_[number] = {index * lanes_, std::move(replaced), false, std::vector<bool>(static_cast<size_t>(lanes_))};
  }
  if (earlier != nullptr) {
    earlier();
  }
  return number;
}

void InferenceBatcher::Close(uint64_t stream) {
  MutexLock lock(&mutex_);
  streams_.erase(stream);
  DropRequestsLocked(stream);
  changed_.SignalAll();  // All remaining streams may be waiting now.
}

void InferenceBatcher::DropRequestsLocked(uint64_t stream) {
  const auto of_stream = [stream](const Request& request) { return request.stream == stream; };
  const auto found = std::find_if(queue_.begin(), queue_.end(), of_stream);
  if (found != queue_.end()) {
    queued_rows_ -= static_cast<int64_t>(found->slots.size());
    queue_.erase(found);
  }
}

int64_t InferenceBatcher::AllLanes() {
  int64_t lanes = all_lanes_ == nullptr ? 0 : all_lanes_();
  MutexLock lock(&mutex_);
  for (const auto& [number, stream] : streams_) {
    lanes = std::max(lanes, stream.first_slot + lanes_);
  }
  return lanes;
}

absl::Status InferenceBatcher::Ask(uint64_t stream, std::vector<int64_t> lanes, ByteSlices data, Done done) {
  const size_t wanted = lanes.size() * layout_.RequestBytes();
  if (lanes.empty() || data.size() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("a request for ", lanes.size(), " lanes has ", data.size(),
                                                   " bytes; wanted at least one lane, and ", layout_.RequestBytes(),
                                                   " bytes for each"));
  }
  std::vector<bool> named(static_cast<size_t>(lanes_));
  for (const int64_t lane : lanes) {
    if (lane < 0 || lane >= lanes_ || named[static_cast<size_t>(lane)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("a request names lane ", lane, "; wanted each of [0, ", lanes_, ") at most once"));
    }
    named[static_cast<size_t>(lane)] = true;
  }
  MutexLock lock(&mutex_);
  if (ending_) {
    return Ended();
  }
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    return absl::AbortedError("a later stream of the same actor has taken over");
  }
  if (found->second.waits) {
    return absl::FailedPreconditionError("a stream asks again before it is answered");
  }
  Request request;
  request.stream = stream;
  for (const int64_t lane : lanes) {
    request.slots.push_back(found->second.first_slot + lane);
  }
  request.data = std::move(data);
  request.done = std::move(done);
  request.arrived = SteadyNow();
  found->second.waits = true;
  queued_rows_ += static_cast<int64_t>(lanes.size());
  queue_.push_back(std::move(request));
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Duration InferenceBatcher::UntilReadyLocked(absl::Time now) const {
  if (queue_.empty() || !has_weights_) {
    return absl::InfiniteDuration();
  }
  if (queued_rows_ >= options_.batch_rows || queue_.size() >= streams_.size()) {
    return absl::ZeroDuration();
  }
  return std::max(absl::ZeroDuration(), queue_.front().arrived + absl::Seconds(options_.wait_seconds) - now);
}

std::vector<InferenceBatcher::Request> InferenceBatcher::NextBatch() {
  std::vector<Request> batch;
  MutexLock lock(&mutex_);
  while (!ending_ && !newer_.has_value()) {
    const absl::Duration left = UntilReadyLocked(SteadyNow());
    if (left == absl::ZeroDuration()) {
      break;
    }
    if (left == absl::InfiniteDuration()) {
      changed_.Wait(&mutex_);
    } else {
      changed_.WaitFor(&mutex_, left);
    }
  }
  if (ending_ || newer_.has_value()) {
    return batch;
  }
  int64_t rows = 0;
  while (!queue_.empty()) {
    const auto more = static_cast<int64_t>(queue_.front().slots.size());
    if (rows > 0 && rows + more > options_.batch_rows) {
      break;
    }
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
    queued_rows_ -= more;
    rows += more;
  }
  return batch;
}

void InferenceBatcher::TakeWeights() {
  std::optional<ModelSnapshot> newer;
  {
    MutexLock lock(&mutex_);
    newer.swap(newer_);
  }
  if (!newer.has_value()) {
    return;
  }
  if (const absl::Status loaded = policy_->LoadWeights(*newer); !loaded.ok()) {
    LogError("the learner's inference keeps its present weights: ", loaded.ToString());
    return;
  }
  version_ = newer->version;
  MutexLock lock(&mutex_);
  has_weights_ = true;
}

void InferenceBatcher::Run() {
  while (true) {
    std::vector<Request> batch = NextBatch();
    if (!batch.empty()) {
      Answers(&batch);
      continue;
    }
    TakeWeights();
    MutexLock lock(&mutex_);
    if (ending_) {
      return;
    }
  }
}

void InferenceBatcher::Answers(std::vector<Request>* batch) {
  if (all_lanes_ != nullptr) {
    policy_->SetAllLanes(AllLanes());
  }
  if (take_settings_ != nullptr) {
    take_settings_(policy_.get());
  }
  absl::StatusOr<std::vector<Answer>> answers = Compute(*batch);
  if (!answers.ok() && batch->size() > 1) {
    for (Request& request : *batch) {
      std::vector<Request> alone(1);
      std::swap(alone[0], request);
      Answers(&alone);
    }
    return;
  }
  for (size_t i = 0; i < batch->size(); ++i) {
    Reply(&(*batch)[i], answers.ok() ? absl::StatusOr<Answer>(std::move((*answers)[i])) : answers.status());
  }
}

void InferenceBatcher::Gather(const std::vector<Request>& batch, int64_t rows) {
  const auto count = static_cast<size_t>(rows);
  Fit(layout_.observations, count, &observations_);
  Fit(layout_.actions, count, &actions_);
  Fit(layout_.columns, count, &columns_);
  private_values_.resize(std::max(private_values_.size(), count * layout_.private_values));
  slots_.clear();
  first_.resize(count);
  size_t row = 0;
  for (const Request& request : batch) {
    const size_t own = request.slots.size();
    slots_.insert(slots_.end(), request.slots.begin(), request.slots.end());
    request.data.Part(0, own).CopyTo(reinterpret_cast<char*>(first_.data()) + row);
    size_t offset = own;
    for (size_t leaf = 0; leaf < observations_.size(); ++leaf) {
      const size_t bytes = layout_.observations[leaf];
      request.data.Part(offset, own * bytes).CopyTo(observations_[leaf].data() + row * bytes);
      offset += own * bytes;
    }
    row += own;
  }
  // The memory in lanes of a new stream is that of an earlier stream.
  MutexLock lock(&mutex_);
  row = 0;
  for (const Request& request : batch) {
    const auto stream = streams_.find(request.stream);
    for (const int64_t slot : request.slots) {
      if (stream != streams_.end()) {
        const auto lane = static_cast<size_t>(slot - stream->second.first_slot);
        first_[row] = first_[row] != 0 || !stream->second.remembered[lane] ? 1 : 0;
      }
      ++row;
    }
  }
}

absl::Status InferenceBatcher::CheckChoices(int64_t rows) const {
  for (size_t i = 0; i < environment_.observations.size(); ++i) {
    const SpaceLeaf& leaf = environment_.observations[i];
    if (leaf.num_values.empty()) {
      continue;
    }
    const auto* const choices = reinterpret_cast<const int64_t*>(observations_[i].data());
    const auto elements = static_cast<int64_t>(leaf.num_values.size());
    for (int64_t at = 0; at < rows * elements; ++at) {
      if (choices[at] < 0 || choices[at] >= leaf.num_values[static_cast<size_t>(at % elements)]) {
        return absl::InvalidArgumentError(
            absl::StrCat("an observation has the choice ", choices[at], " in ", leaf.DebugString()));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<InferenceBatcher::Answer>> InferenceBatcher::Compute(const std::vector<Request>& batch) {
  int64_t rows = 0;
  for (const Request& request : batch) {
    rows += static_cast<int64_t>(request.slots.size());
  }
  Gather(batch, rows);
  WAGGLE_RETURN_IF_ERROR(CheckChoices(rows));
  std::vector<const void*> observations;
  for (const std::vector<char>& leaf : observations_) {
    observations.push_back(leaf.data());
  }
  PolicyInput input;
  input.slots = slots_;
  input.observations = observations;
  input.first = first_.data();
  PolicyOutput output;
  for (std::vector<char>& leaf : actions_) {
    output.actions.push_back(leaf.data());
  }
  for (std::vector<char>& column : columns_) {
    output.columns.push_back(column.data());
  }
  output.private_values = layout_.private_values > 0 ? private_values_.data() : nullptr;
  WAGGLE_RETURN_IF_ERROR(policy_->Act(input, ActMode::kExplore, &output));
  metrics_->Add("inference_batches", 1);
  metrics_->Add("inference_rows", static_cast<double>(rows));
  metrics_->Set("inference_rows_a_batch", static_cast<double>(rows), absl::Seconds(2));
  std::vector<Answer> answers;
  size_t row = 0;
  for (const Request& request : batch) {
    const size_t own = request.slots.size();
    std::shared_ptr<char> bytes = AllocateBytes(own * layout_.ResponseBytes());
    char* at = bytes.get();
    const auto put = [&](const void* values, size_t row_bytes) {
      std::memcpy(at, static_cast<const char*>(values) + row * row_bytes, own * row_bytes);
      at += own * row_bytes;
    };
    for (size_t leaf = 0; leaf < actions_.size(); ++leaf) {
      put(actions_[leaf].data(), layout_.actions[leaf]);
    }
    for (size_t column = 0; column < columns_.size(); ++column) {
      put(columns_[column].data(), layout_.columns[column]);
    }
    put(private_values_.data(), layout_.private_values * sizeof(float));
    Answer answer;
    answer.version = version_;
    ByteSlice slice;
    slice.data = bytes.get();
    slice.size = own * layout_.ResponseBytes();
    slice.owner = std::move(bytes);
    answer.data.Append(std::move(slice));
    answers.push_back(std::move(answer));
    row += own;
  }
  return answers;
}

void InferenceBatcher::Reply(Request* request, absl::StatusOr<Answer> answer) {
  {
    MutexLock lock(&mutex_);
    const auto stream = streams_.find(request->stream);
    if (stream == streams_.end()) {
      return;
    }
    stream->second.waits = false;
    for (const int64_t slot : request->slots) {
      stream->second.remembered[static_cast<size_t>(slot - stream->second.first_slot)] = true;
    }
  }
  request->done(std::move(answer));
}

}  // namespace waggle
