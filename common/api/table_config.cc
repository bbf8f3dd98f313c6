#include "common/api/table_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

// Slots are numbered with 32 bits.
constexpr int64_t kMaxItems = int64_t{1} << 31;
constexpr int64_t kMaxTimesSampled = int64_t{1} << 24;
constexpr int64_t kMaxWindow = int64_t{1} << 24;
constexpr int64_t kMaxRecentPeriod = int64_t{1} << 31;
// Of the facts that a batch carries beside the view's fields.
constexpr char kReservedPrefix[] = "item/";
// What Name() calls a value that is none of its enumeration.
constexpr char kUnknown[] = "unknown";

bool IsInteger(double value) {
  return value == std::floor(value);
}

void CheckRange(absl::string_view field, int64_t value, int64_t low, int64_t high, Problems* problems) {
  problems->AddUnless(value >= low && value <= high, field, ": ", value, " is outside [", low, ", ", high, "]");
}

void CheckNotNegative(absl::string_view field, double value, Problems* problems) {
  problems->AddUnless(std::isfinite(value) && value >= 0, field, ": ", value, " is not a finite number >= 0");
}

void CheckShare(absl::string_view field, double value, Problems* problems) {
  problems->AddUnless(value >= 0 && value <= 1, field, ": ", value, " is not a share in [0, 1]");
}

void CheckSignature(const TableConfig& config, Problems* problems) {
  if (config.signature.empty() || config.signature.size() > kMaxColumns) {
    problems->Add("signature: has ", config.signature.size(), " columns; 1 to ", kMaxColumns, " are allowed");
    return;  // The sum of more columns' sizes could overflow.
  }
  std::set<std::string> names;
  int64_t row_bytes = 0;
  for (const ArraySpec& column : config.signature) {
    const absl::Status valid = column.Validate();
    problems->AddIfBad("signature: ", valid);
    if (!names.insert(column.name).second) {
      problems->Add("signature: column ", column.name, " is there twice");
    }
    row_bytes += valid.ok() ? column.NumBytes() : 0;
  }
  if (row_bytes > kMaxArrayBytes) {
    problems->Add("signature: a row has ", row_bytes, " bytes; at most ", kMaxArrayBytes, " are allowed");
  }
}

void CheckView(const TableConfig& config, Problems* problems) {
  if (config.view.empty()) {
    problems->Add("view: has no field; at least 1 is needed");
  }
  if (config.view.size() > kMaxViewFields) {
    problems->Add("view: has ", config.view.size(), " fields; at most ", kMaxViewFields, " are allowed");
    return;
  }
  std::map<std::string, const ArraySpec*> columns;
  std::vector<std::string> known;
  for (const ArraySpec& column : config.signature) {
    columns.emplace(column.name, &column);
    known.push_back(column.name);
  }
  std::set<std::string> names;
  for (const ViewField& field : config.view) {
    problems->AddIfBad("view: ", ValidateName(field.name));
    if (absl::StartsWith(field.name, kReservedPrefix)) {
      problems->Add("view: field ", field.name, ": names that begin with ", kReservedPrefix, " are taken");
    }
    if (!names.insert(field.name).second) {
      problems->Add("view: field ", field.name, " is there twice");
    }
    if (Name(field.rows) == kUnknown) {
      problems->Add("view: field ", field.name, ": ", static_cast<int>(field.rows), " is no choice of rows");
    }
    if (field.stack < 1 || field.stack > kMaxStack) {
      problems->Add("view: field ", field.name, ": stack: ", field.stack, " is outside [1, ", kMaxStack, "]");
    }
    const auto column = columns.find(field.column);
    if (column == columns.end()) {
      problems->Add("view: field ", field.name, ": no column named \"", field.column, "\"",
                    DidYouMean(field.column, known), "; the columns are ", absl::StrJoin(known, ", "));
      continue;
    }
    const size_t rank =
        column->second->shape.size() + (field.rows == ViewField::Rows::kAll ? 2 : 1) + (field.stack > 1 ? 1 : 0);
    if (rank > kMaxRank) {
      problems->Add("view: field ", field.name, " would have ", rank, " dimensions in a batch; at most ", kMaxRank,
                    " are allowed");
    }
  }
}

void CheckSampler(const SamplerConfig& sampler, Problems* problems) {
  const bool prioritized = sampler.kind == SelectorKind::kPrioritized;
  const bool has_recency = prioritized || sampler.kind == SelectorKind::kUniform;
  problems->AddUnless(Name(sampler.kind) != kUnknown, "sampler: ", static_cast<int>(sampler.kind),
                      " is no kind of sampler");
  CheckNotNegative("sampler.priority_exponent", sampler.priority_exponent, problems);
  CheckNotNegative("sampler.priority_epsilon", sampler.priority_epsilon, problems);
  CheckShare("sampler.uniform_share", sampler.uniform_share, problems);
  CheckShare("sampler.recent_share", sampler.recent_share, problems);
  CheckShare("sampler.recent_decay", sampler.recent_decay, problems);
  if (sampler.uniform_share > 0 && !prioritized) {
    problems->Add("sampler.uniform_share: only a prioritized sampler has one; this is ", Name(sampler.kind));
  }
  problems->AddUnless(sampler.uniform_share == 0 || !sampler.without_replacement,
                      "sampler.uniform_share: is not there without_replacement");
  if (sampler.recent_share > 0) {
    problems->AddUnless(has_recency, "sampler.recent_share: only a uniform or a prioritized sampler has one; this is ",
                        Name(sampler.kind));
    problems->AddUnless(sampler.uniform_share == 0, "sampler: has both a uniform_share and a recent_share; choose one");
    problems->AddUnless(!sampler.without_replacement, "sampler.recent_share: is not there without_replacement");
  }
  const int64_t least = sampler.recent_share > 0 ? 1 : 0;  // Without a share they may be left out.
  CheckRange("sampler.recent_items", sampler.recent_items, least, kMaxItems, problems);
  CheckRange("sampler.recent_period", sampler.recent_period, least, kMaxRecentPeriod, problems);
}

void CheckRemover(const RemoverConfig& remover, Problems* problems) {
  problems->AddUnless(Name(remover.kind) != kUnknown, "remover: ", static_cast<int>(remover.kind),
                      " is no kind of remover");
  CheckNotNegative("remover.priority_exponent", remover.priority_exponent, problems);
}

void CheckLimits(const TableConfig& config, Problems* problems) {
  CheckRange("max_items", config.max_items, 1, kMaxItems, problems);
  CheckRange("max_window", config.max_window, 1, kMaxWindow, problems);
  if (config.max_bytes < 1) {
    problems->Add("max_bytes: ", config.max_bytes, " is less than 1");
  }
  CheckRange("max_times_sampled", config.max_times_sampled, 0, kMaxTimesSampled, problems);
}

void CheckDifferences(const RateLimiterConfig& limiter, Problems* problems) {
  if (limiter.min_difference.has_value() != limiter.max_difference.has_value()) {
    problems->Add("rate_limiter: has one of min_difference and max_difference; give both or neither");
    return;
  }
  if (!limiter.min_difference.has_value()) {
    return;
  }
  problems->AddUnless(std::isfinite(*limiter.min_difference) && std::isfinite(*limiter.max_difference),
                      "rate_limiter: min_difference, ", *limiter.min_difference, ", and max_difference, ",
                      *limiter.max_difference, ", have to be finite; samples_per_insert 0 is for no ratio at all");
  problems->AddUnless(limiter.error_buffer == 0, "rate_limiter: has an error_buffer beside min_difference; choose one");
  problems->AddUnless(limiter.samples_per_insert > 0,
                      "rate_limiter.min_difference: means nothing where samples_per_insert is 0");
}

void CheckRateLimiter(const TableConfig& config, Problems* problems) {
  const RateLimiterConfig& limiter = config.rate_limiter;
  CheckNotNegative("rate_limiter.samples_per_insert", limiter.samples_per_insert, problems);
  CheckNotNegative("rate_limiter.error_buffer", limiter.error_buffer, problems);
  CheckDifferences(limiter, problems);
  if (limiter.min_items < 1) {
    problems->Add("rate_limiter.min_items: ", limiter.min_items, " is less than 1");
  }
  if (limiter.min_items > config.max_items) {
    problems->Add("rate_limiter.min_items: ", limiter.min_items, " is more than max_items, ", config.max_items,
                  ": nothing could ever be sampled");
  }
  // With one of the two nobody can say what holds.
  if (limiter.min_difference.has_value() == limiter.max_difference.has_value()) {
    const std::string stuck = limiter.WhyStuck(/*batch_size=*/1);
    problems->AddUnless(stuck.empty(), stuck);
  }
}

void CheckCompression(const TableConfig& config, Problems* problems) {
  std::set<std::string> columns;
  for (const ArraySpec& column : config.signature) {
    columns.insert(column.name);
  }
  std::set<std::string> names;
  if (config.compression.size() > kMaxColumns) {
    problems->Add("compression: names ", config.compression.size(), " columns; at most ", kMaxColumns, " are allowed");
    return;
  }
  for (const ColumnCompression& compression : config.compression) {
    problems->AddUnless(columns.count(compression.column) > 0, "compression: no column named \"", compression.column,
                        "\"", DidYouMean(compression.column, {columns.begin(), columns.end()}));
    problems->AddUnless(names.insert(compression.column).second, "compression: column ", compression.column,
                        " is there twice");
    problems->AddUnless(Name(compression.codec) != kUnknown, "compression: column ", compression.column, ": ",
                        static_cast<int>(compression.codec), " is no codec");
  }
}

void CheckStorage(const TableConfig& config, Problems* problems) {
  problems->AddUnless(Name(config.durability) != kUnknown, "durability: ", static_cast<int>(config.durability),
                      " is none");
  problems->AddUnless(!config.log_sync || config.durability == Durability::kLog,
                      "log_sync: means nothing with durability ", Name(config.durability));
  if (config.memory_limit < 0) {
    problems->Add("memory_limit: ", config.memory_limit, " is less than 0");
  }
}

void CheckSettings(const TableConfig& config, Problems* problems) {
  CheckSampler(config.sampler, problems);
  CheckRemover(config.remover, problems);
  CheckLimits(config, problems);
  CheckRateLimiter(config, problems);
  CheckStorage(config, problems);
}

std::string DescribeView(const std::vector<ViewField>& view) {
  return absl::StrCat("[",
                      absl::StrJoin(view, ", ",
                                    [](std::string* out, const ViewField& field) {
                                      absl::StrAppend(out, field.name, " = ", Name(field.rows), " ", field.column);
                                      if (field.stack > 1) {
                                        absl::StrAppend(out, " in stacks of ", field.stack);
                                      }
                                    }),
                      "]");
}

}  // namespace

absl::string_view Name(SelectorKind kind) {
  switch (kind) {
    case SelectorKind::kUniform:
      return "uniform";
    case SelectorKind::kPrioritized:
      return "prioritized";
    case SelectorKind::kFifo:
      return "fifo";
    case SelectorKind::kLifo:
      return "lifo";
    case SelectorKind::kMinHeap:
      return "min_heap";
    case SelectorKind::kMaxHeap:
      return "max_heap";
  }
  return kUnknown;
}

absl::string_view Name(ViewField::Rows rows) {
  switch (rows) {
    case ViewField::Rows::kFirst:
      return "first";
    case ViewField::Rows::kLast:
      return "last";
    case ViewField::Rows::kAll:
      return "all";
  }
  return kUnknown;
}

absl::string_view Name(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kLz4:
      return "lz4";
    case Codec::kZstd:
      return "zstd";
  }
  return kUnknown;
}

absl::string_view Name(Durability durability) {
  switch (durability) {
    case Durability::kNone:
      return "none";
    case Durability::kCheckpoint:
      return "checkpoint";
    case Durability::kLog:
      return "log";
  }
  return kUnknown;
}

double RateLimiterConfig::MinDifference() const {
  return min_difference.value_or(static_cast<double>(min_items) * samples_per_insert - error_buffer);
}

double RateLimiterConfig::MaxDifference() const {
  return max_difference.value_or(static_cast<double>(min_items) * samples_per_insert + error_buffer);
}

// An insert waits where the difference is above max_difference - samples_per_insert, a batch where it is below
// min_difference + batch_size. Both must not be true of one difference; where all of them are integers, that leaves out
// the ones between.
std::string RateLimiterConfig::WhyStuck(int64_t batch_size) const {
  if (samples_per_insert == 0) {
    return "";
  }
  const std::string what = absl::StrCat("with samples_per_insert ", samples_per_insert,
                                        batch_size > 1 ? absl::StrCat(" and batches of ", batch_size) : "");
  const char kElse[] = ", or inserts and samples would block each other for ever";
  const double steps = samples_per_insert + static_cast<double>(batch_size);
  if (!min_difference.has_value() || !max_difference.has_value()) {
    return 2 * error_buffer >= steps ? ""
                                     : absl::StrCat("rate_limiter.error_buffer: ", error_buffer,
                                                    " is too small: ", what, " it must be at least ", steps / 2, kElse);
  }
  const bool integers = IsInteger(samples_per_insert) && IsInteger(*min_difference) && IsInteger(*max_difference);
  const double needed = steps - (integers ? 1 : 0);
  const double range = *max_difference - *min_difference;
  return range >= needed
             ? ""
             : absl::StrCat("rate_limiter: max_difference, ", *max_difference, ", is ", range,
                            " more than min_difference, ", *min_difference, ": ", what, " it must be ", needed, kElse);
}

int64_t TableConfig::MaxContextRows() const {
  int64_t longest = 1;
  for (const ViewField& field : view) {
    longest = std::max(longest, field.stack);
  }
  return longest - 1;
}

void MakeQueue(int64_t max_items, TableConfig* config) {
  config->sampler = SamplerConfig();
  config->sampler.kind = SelectorKind::kFifo;
  config->remover = RemoverConfig();
  config->max_items = max_items;
  config->max_times_sampled = 1;
  config->rate_limiter = RateLimiterConfig();
  config->rate_limiter.samples_per_insert = 1;
  config->rate_limiter.min_difference = 0;
  config->rate_limiter.max_difference = static_cast<double>(max_items);
}

void MakeStack(int64_t max_items, TableConfig* config) {
  MakeQueue(max_items, config);
  config->sampler.kind = SelectorKind::kLifo;
}

bool TableConfig::UsesPriorities() const {
  const auto uses = [](SelectorKind kind) {
    return kind == SelectorKind::kPrioritized || kind == SelectorKind::kMinHeap || kind == SelectorKind::kMaxHeap;
  };
  return uses(sampler.kind) || uses(remover.kind);
}

absl::Status TableConfig::Validate() const {
  Problems problems;
  problems.AddIfBad("name: ", ValidateName(name));
  CheckSignature(*this, &problems);
  CheckView(*this, &problems);
  CheckSettings(*this, &problems);
  CheckCompression(*this, &problems);
  return problems.ToStatus(absl::StrCat("table \"", name, "\": "), "; ");
}

absl::Status TableConfig::ValidateSettings() const {
  Problems problems;
  CheckSettings(*this, &problems);
  return problems.ToStatus();
}

absl::Status TableConfig::ValidateCompression() const {
  Problems problems;
  CheckCompression(*this, &problems);
  return problems.ToStatus();
}

absl::Status TableConfig::CheckBatchSize(int64_t batch_size) const {
  if (batch_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has at least 1 item; got ", batch_size));
  }
  if (max_times_sampled > 0 && batch_size > max_times_sampled * max_items) {
    return absl::FailedPreconditionError(absl::StrCat("max_items: ", max_items, " with max_times_sampled ",
                                                      max_times_sampled, ": a batch of ", batch_size,
                                                      " can never be drawn"));
  }
  if (sampler.without_replacement && batch_size > max_items) {
    return absl::FailedPreconditionError(absl::StrCat("max_items: ", max_items, ": a batch of ", batch_size,
                                                      " different items (without_replacement) can never be drawn"));
  }
  const std::string stuck = rate_limiter.WhyStuck(batch_size);
  return stuck.empty() ? absl::OkStatus() : absl::FailedPreconditionError(stuck);
}

namespace {

class Comparison {
 public:
  template <class T>
  void Add(absl::string_view field, const T& a, const T& b, bool fixed) {
    if (a != b) {
      differences_.push_back({absl::StrCat(field, ": ", a, " and ", b), fixed});
    }
  }
  void Add(absl::string_view field, const std::optional<double>& a, const std::optional<double>& b, bool fixed) {
    const auto text = [](const std::optional<double>& value) {
      return value.has_value() ? absl::StrCat(*value) : std::string("none");
    };
    Add(field, text(a), text(b), fixed);
  }
  void Add(absl::string_view field, bool a, bool b, bool fixed) {
    Add(field, absl::string_view(a ? "true" : "false"), absl::string_view(b ? "true" : "false"), fixed);
  }

  std::vector<std::string> Texts(bool fixed_only) const {
    std::vector<std::string> texts;
    for (const auto& [text, fixed] : differences_) {
      if (fixed || !fixed_only) {
        texts.push_back(text);
      }
    }
    return texts;
  }

 private:
  std::vector<std::pair<std::string, bool>> differences_;
};

constexpr bool kFixed = true;
constexpr bool kChangeable = false;

void CompareSamplers(const SamplerConfig& a, const SamplerConfig& b, Comparison* comparison) {
  comparison->Add("sampler", Name(a.kind), Name(b.kind), kFixed);
  if (a.kind != b.kind) {
    return;
  }
  comparison->Add("sampler.absolute_priorities", a.absolute_priorities, b.absolute_priorities, kFixed);
  comparison->Add("sampler.without_replacement", a.without_replacement, b.without_replacement, kFixed);
  if (a.kind == SelectorKind::kPrioritized) {
    comparison->Add("sampler.priority_exponent", a.priority_exponent, b.priority_exponent, kChangeable);
    comparison->Add("sampler.priority_epsilon", a.priority_epsilon, b.priority_epsilon, kChangeable);
    comparison->Add("sampler.independent_draws", a.independent_draws, b.independent_draws, kFixed);
    comparison->Add("sampler.uniform_share", a.uniform_share, b.uniform_share, kChangeable);
  }
  comparison->Add("sampler.recent_share", a.recent_share, b.recent_share, kChangeable);
  if (a.recent_share > 0 && b.recent_share > 0) {
    comparison->Add("sampler.recent_items", a.recent_items, b.recent_items, kChangeable);
    comparison->Add("sampler.recent_decay", a.recent_decay, b.recent_decay, kChangeable);
    comparison->Add("sampler.recent_period", a.recent_period, b.recent_period, kChangeable);
  }
}

void CompareLimiters(const RateLimiterConfig& a, const RateLimiterConfig& b, Comparison* comparison) {
  comparison->Add("rate_limiter.samples_per_insert", a.samples_per_insert, b.samples_per_insert, kChangeable);
  comparison->Add("rate_limiter.min_items", a.min_items, b.min_items, kChangeable);
  comparison->Add("rate_limiter.error_buffer", a.error_buffer, b.error_buffer, kChangeable);
  comparison->Add("rate_limiter.min_difference", a.min_difference, b.min_difference, kChangeable);
  comparison->Add("rate_limiter.max_difference", a.max_difference, b.max_difference, kChangeable);
}

std::string DescribeCompression(const TableConfig& config) {
  std::vector<std::string> columns;
  for (const ArraySpec& column : config.signature) {  // In the signature's order: that of the list means nothing.
    for (const ColumnCompression& compression : config.compression) {
      if (compression.column == column.name) {
        columns.push_back(absl::StrCat(column.name, " = ", Name(compression.codec)));
      }
    }
  }
  return absl::StrCat("[", absl::StrJoin(columns, ", "), "]");
}

Comparison Compare(const TableConfig& a, const TableConfig& b) {
  Comparison comparison;
  comparison.Add("name", a.name, b.name, kFixed);
  comparison.Add("signature", DebugString(a.signature), DebugString(b.signature), kFixed);
  comparison.Add("view", DescribeView(a.view), DescribeView(b.view), kFixed);
  CompareSamplers(a.sampler, b.sampler, &comparison);
  comparison.Add("remover", Name(a.remover.kind), Name(b.remover.kind), kFixed);
  if (a.remover.kind == SelectorKind::kPrioritized && b.remover.kind == SelectorKind::kPrioritized) {
    comparison.Add("remover.priority_exponent", a.remover.priority_exponent, b.remover.priority_exponent, kChangeable);
  }
  CompareLimiters(a.rate_limiter, b.rate_limiter, &comparison);
  comparison.Add("max_items", a.max_items, b.max_items, kChangeable);
  comparison.Add("max_bytes", a.max_bytes, b.max_bytes, kChangeable);
  comparison.Add("max_times_sampled", a.max_times_sampled, b.max_times_sampled, kChangeable);
  comparison.Add("max_window", a.max_window, b.max_window, kFixed);
  comparison.Add("seed", a.seed, b.seed, kFixed);
  comparison.Add("compression", DescribeCompression(a), DescribeCompression(b), kFixed);
  comparison.Add("durability", Name(a.durability), Name(b.durability), kFixed);
  comparison.Add("log_sync", a.log_sync, b.log_sync, kFixed);
  // Rows are arranged for the one or the other as they come.
  const bool both = (a.memory_limit > 0) == (b.memory_limit > 0);
  comparison.Add("memory_limit", a.memory_limit, b.memory_limit, both ? kChangeable : kFixed);
  return comparison;
}

}  // namespace

std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).Texts(/*fixed_only=*/false);
}

std::vector<std::string> FixedDifferences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).Texts(/*fixed_only=*/true);
}

}  // namespace waggle
