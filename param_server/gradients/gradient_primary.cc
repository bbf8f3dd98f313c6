#include "param_server/gradients/gradient_primary.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "param_server/gradients/gradient_sum.h"

namespace waggle {
namespace {

bool IsSame(const GradientMember& a, const GradientMember& b) {
  return a.sequence == b.sequence && a.life == b.life && a.worker_id == b.worker_id;
}

GradientResult Refusal(GradientVerdict verdict, std::string message) {
  return {verdict, {}, std::move(message)};
}

GradientAnswer Single(GradientResult result) {
  GradientAnswer answer;
  answer.results.push_back(std::move(result));
  return answer;
}

}  // namespace

GradientPrimary::GradientPrimary(const GradientPrimaryOptions& options, SteppedParameters* parameters,
                                 SettledGradients* settled, Metrics* metrics, std::function<Progress()> progress)
    : options_(options),
      parameters_(parameters),
      settled_(settled),
      metrics_(metrics),
      progress_(std::move(progress)),
      step_(options.first_step),
      over_(options.max_steps > 0 && options.first_step >= options.max_steps) {}

void GradientPrimary::Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) {
  const int64_t rolled_back = settled_->rolled_back();
  absl::Status heard;
  for (const GradientMember& member : push.members) {
    heard.Update(settled_->Hear(member));
  }
  metrics_->Add("gradients_rolled_back", static_cast<double>(settled_->rolled_back() - rolled_back));
  if (push.members.size() == 1 && heard.ok()) {
    TakeOne(std::move(push), std::move(answer), now);
  } else if (push.members.size() == 1) {
    metrics_->Add("gradients_pushed", 1);
    CountVerdict(GradientVerdict::kMalformed, metrics_);
    answer(SameForAll(push, GradientVerdict::kMalformed, std::string(heard.message())));
  } else if (heard.ok() && CanTakeWhole(push)) {
    Gather({std::move(push), std::move(answer)}, now);
  } else {
    metrics_->Add("gradient_sums_split", 1);
    GradientAnswer split;
    split.send_singly = true;
    answer(std::move(split));
  }
}

void GradientPrimary::TakeOne(GradientPush push, GradientTaker::Answer answer, absl::Time now) {
  const GradientMember& member = push.members.front();
  if (std::optional<GradientResult> before = settled_->Find(member); before.has_value()) {
    metrics_->Add("gradients_repeated", 1);
    answer(Single(*std::move(before)));
    return;
  }
  if (IsGathered(member)) {
    metrics_->Add("gradients_repeated", 1);
    push.data = nullptr;
    repeated_.push_back({std::move(push), std::move(answer)});
    return;
  }
  Judgement judgement = Judge(push.model, member);
  if (judgement.refusal.has_value()) {
    Settle(member, *judgement.refusal);
    answer(Single(*std::move(judgement.refusal)));
    return;
  }
  Gather({std::move(push), std::move(answer), judgement.scale}, now);
}

bool GradientPrimary::CanTakeWhole(const GradientPush& sum) const {
  for (size_t i = 0; i < sum.members.size(); ++i) {
    const GradientMember& member = sum.members[i];
    const auto end = sum.members.begin() + static_cast<std::ptrdiff_t>(i);
    const bool twice =
        std::any_of(sum.members.begin(), end, [&member](const auto& other) { return IsSame(member, other); });
    if (twice || settled_->Find(member).has_value() || IsGathered(member)) {
      return false;
    }
    const Judgement judgement = Judge(sum.model, member);
    if (judgement.refusal.has_value() || judgement.scale != 1) {
      return false;
    }
  }
  return true;
}

GradientPrimary::Judgement GradientPrimary::Judge(const GradientModel& model, const GradientMember& member) const {
  Judgement judgement;
  if (over_) {
    judgement.refusal = Refusal(GradientVerdict::kTrainingOver, "nothing is applied any more");
    return judgement;
  }
  if (model != parameters_->model()) {
    judgement.refusal = Refusal(
        GradientVerdict::kWrongModel,
        absl::StrCat("the gradient is of ", model.DebugString(), "; wanted ", parameters_->model().DebugString()));
    return judgement;
  }
  const ModelVersion newest = {options_.epoch, static_cast<uint64_t>(step_)};
  if (newest < member.based_on) {
    judgement.refusal =
        Refusal(GradientVerdict::kFuture, absl::StrCat("the gradient is based on epoch ", member.based_on.epoch,
                                                       ", version ", member.based_on.version, "; the newest is epoch ",
                                                       newest.epoch, ", version ", newest.version));
    return judgement;
  }
  if (!options_.max_staleness.has_value()) {
    return judgement;
  }
  const std::optional<int64_t> since = StepsSince(member.based_on);
  const int64_t excess = since.value_or(0) - *options_.max_staleness;
  if (since.has_value() && excess <= 0) {
    return judgement;
  }
  if (since.has_value() && options_.scale_stale) {
    judgement.scale = 1 / (1 + static_cast<float>(excess));
    return judgement;
  }
  judgement.refusal =
      Refusal(GradientVerdict::kStale,
              since.has_value() ? absl::StrCat("the gradient is based on weights of ", *since, " steps ago; at most ",
                                               *options_.max_staleness, " are allowed")
                                : absl::StrCat("the gradient is based on epoch ", member.based_on.epoch, ", version ",
                                               member.based_on.version, ", which a restart at version ",
                                               options_.first_step, " has undone"));
  return judgement;
}

std::optional<int64_t> GradientPrimary::StepsSince(const ModelVersion& based_on) const {
  const bool undone = based_on.epoch < options_.epoch && based_on.version > static_cast<uint64_t>(options_.first_step);
  return undone ? std::nullopt : std::optional<int64_t>(step_ - static_cast<int64_t>(based_on.version));
}

bool GradientPrimary::IsGathered(const GradientMember& member) const {
  return std::any_of(gathered_.begin(), gathered_.end(), [&member](const Input& input) {
    return std::any_of(input.push.members.begin(), input.push.members.end(),
                       [&member](const auto& other) { return IsSame(member, other); });
  });
}

void GradientPrimary::Gather(Input input, absl::Time now) {
  if (gathered_.empty()) {
    flush_at_ = now + options_.flush_after;
  }
  members_ += input.push.members.size();
  gathered_.push_back(std::move(input));
  if (static_cast<int64_t>(gathered_.size()) >= options_.batch) {
    Flush();
  }
}

void GradientPrimary::Tick(absl::Time now) {
  if (now >= flush_at_) {
    Flush();
  }
}

absl::Time GradientPrimary::NextTick() const {
  return flush_at_;
}

void GradientPrimary::Flush() {
  GradientResult result;
  if (over_) {
    result = Refusal(GradientVerdict::kTrainingOver, "nothing is applied any more");
  } else if (const absl::Status stepped = Step(); stepped.ok()) {
    ++step_;
    over_ = options_.max_steps > 0 && step_ >= options_.max_steps;
    result.version = {options_.epoch, static_cast<uint64_t>(step_)};
  } else {
    result = Refusal(GradientVerdict::kNotFinite, absl::StrCat("the sum with others: ", stepped.message()));
  }
  members_ = 0;
  flush_at_ = absl::InfiniteFuture();
  for (const Input& input : std::exchange(gathered_, {})) {
    GradientAnswer answer;
    for (const GradientMember& member : input.push.members) {
      Settle(member, result);
      answer.results.push_back(result);
    }
    input.answer(std::move(answer));
  }
  AnswerRepeated();
}

absl::Status GradientPrimary::Step() {
  const double scale = options_.mean ? 1 / static_cast<double>(members_) : 1;
  if (gathered_.size() == 1) {
    return parameters_->Step(gathered_.front().push.data.get(), scale * gathered_.front().scale, Now());
  }
  std::vector<ScaledGradient> gradients;
  gradients.reserve(gathered_.size());
  for (const Input& input : gathered_) {
    gradients.push_back({input.push.data.get(), input.scale});
  }
  const int64_t count = parameters_->model().NumElements();
  if (sum_ == nullptr) {
    sum_ = AllocateBytes(static_cast<size_t>(count) * sizeof(float));
  }
  auto* const sum = reinterpret_cast<float*>(sum_.get());
  SumGradients(gradients, count, sum);
  return parameters_->Step(sum, scale, Now());
}

void GradientPrimary::Settle(const GradientMember& member, const GradientResult& result) {
  settled_->Settle(member, result);
  metrics_->Add("gradients_pushed", 1);
  CountVerdict(result.verdict, metrics_);
}

void GradientPrimary::AnswerRepeated() {
  for (const Input& input : std::exchange(repeated_, {})) {
    input.answer(Single(settled_->Find(input.push.members.front()).value_or(GradientResult())));
  }
}

void GradientPrimary::End() {
  over_ = true;
  if (!gathered_.empty()) {
    Flush();
  }
}

Progress GradientPrimary::Now() const {
  Progress progress = progress_ != nullptr ? progress_() : Progress();
  progress.learner_steps = step_;
  if (options_.max_steps > 0) {
    progress.run =
        std::max(progress.run, std::min(1.0, static_cast<double>(step_) / static_cast<double>(options_.max_steps)));
  }
  return progress;
}

}  // namespace waggle
