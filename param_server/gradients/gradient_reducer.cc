#include "param_server/gradients/gradient_reducer.h"

#include <memory>
#include <utility>

#include "common/base/tensor/byte_slices.h"
#include "param_server/gradients/gradient_sum.h"

namespace waggle {

GradientReducer::GradientReducer(const GradientReducerOptions& options, GradientTaker* next, Metrics* metrics,
                                 std::function<void(std::function<void()>)> post)
    : options_(options), next_(next), metrics_(metrics), post_(std::move(post)) {}

void GradientReducer::Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) {
  Input input{std::move(push), Counted(std::move(answer))};
  if (!gathered_.empty() && gathered_.front().push.model != input.push.model) {
    Send(std::move(input));
    return;
  }
  if (members_ + input.push.members.size() > kMaxGradientMembers) {
    Flush();
  }
  if (gathered_.empty()) {
    flush_at_ = now + options_.flush_after;
  }
  members_ += input.push.members.size();
  gathered_.push_back(std::move(input));
  if (static_cast<int64_t>(gathered_.size()) >= options_.batch) {
    Flush();
  }
}

void GradientReducer::Tick(absl::Time now) {
  if (now >= flush_at_) {
    Flush();
  }
}

absl::Time GradientReducer::NextTick() const {
  return flush_at_;
}

void GradientReducer::Flush() {
  members_ = 0;
  flush_at_ = absl::InfiniteFuture();
  std::vector<Input> inputs = std::exchange(gathered_, {});
  if (inputs.size() == 1) {
    Send(std::move(inputs.front()));
    return;
  }
  GradientPush sum;
  sum.model = inputs.front().push.model;
  std::vector<ScaledGradient> gradients;
  for (const Input& input : inputs) {
    sum.members.insert(sum.members.end(), input.push.members.begin(), input.push.members.end());
    gradients.push_back({input.push.data.get(), 1});
  }
  const int64_t count = sum.model.NumElements();
  const std::shared_ptr<char> bytes = AllocateBytes(static_cast<size_t>(count) * sizeof(float));
  auto* const values = reinterpret_cast<float*>(bytes.get());
  SumGradients(gradients, count, values);
  sum.data = std::shared_ptr<const float>(bytes, values);
  // An answer may come after the reducer's destruction; `post` runs nothing then.
  next_->Take(std::move(sum), [this, post = post_, inputs = std::move(inputs)](GradientAnswer answer) {
    post([this, inputs, answer = std::move(answer)] { OnAnswer(inputs, answer); });
  });
}

void GradientReducer::Send(Input input) {
  next_->Take(std::move(input.push), std::move(input.answer));
}

void GradientReducer::OnAnswer(std::vector<Input> inputs, const GradientAnswer& answer) {
  if (answer.send_singly) {
    metrics_->Add("gradient_sums_split", 1);
    for (Input& input : inputs) {
      Send(std::move(input));
    }
    return;
  }
  auto next = answer.results.begin();
  for (const Input& input : inputs) {
    const auto end = next + static_cast<std::ptrdiff_t>(input.push.members.size());
    GradientAnswer part;
    part.results.assign(next, end);
    input.answer(std::move(part));
    next = end;
  }
}

GradientTaker::Answer GradientReducer::Counted(GradientTaker::Answer answer) const {
  return [metrics = metrics_, answer = std::move(answer)](GradientAnswer answered) {
    for (const GradientResult& result : answered.results) {
      metrics->Add("gradients_pushed", 1);
      CountVerdict(result.verdict, metrics);
    }
    answer(std::move(answered));
  };
}

}  // namespace waggle
