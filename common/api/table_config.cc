#include "common/api/table_config.h"

#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"

namespace waggle {
namespace {

// Slots are numbered with 32 bits.
constexpr int64_t kMaxItems = int64_t{1} << 31;
constexpr int64_t kMaxTimesSampled = int64_t{1} << 31;
constexpr int64_t kMaxWindow = int64_t{1} << 24;
constexpr size_t kMaxColumns = 256;
// Of the facts that a batch carries beside the view's fields.
constexpr char kReservedPrefix[] = "item/";

const char* KindName(SamplerConfig::Kind kind) {
  switch (kind) {
    case SamplerConfig::Kind::kUniform:
      return "uniform";
    case SamplerConfig::Kind::kPrioritized:
      return "prioritized";
    case SamplerConfig::Kind::kFifo:
      return "fifo";
  }
  return "unknown";
}

const char* RowsName(ViewField::Rows rows) {
  switch (rows) {
    case ViewField::Rows::kFirst:
      return "first";
    case ViewField::Rows::kLast:
      return "last";
    case ViewField::Rows::kAll:
      return "all";
  }
  return "unknown";
}

// Gathers everything that is wrong, so that it can be mended at once.
class Problems {
 public:
  template <class... Parts>
  void Add(const Parts&... parts) {
    problems_.push_back(absl::StrCat(parts...));
  }
  void AddIfBad(absl::string_view where, const absl::Status& status) {
    if (!status.ok()) {
      Add(where, ": ", status.message());
    }
  }
  void CheckRange(absl::string_view field, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high) {
      Add(field, ": ", value, " is outside [", low, ", ", high, "]");
    }
  }
  void CheckNotNegative(absl::string_view field, double value) {
    if (!std::isfinite(value) || value < 0) {
      Add(field, ": ", value, " is not a finite number >= 0");
    }
  }
  absl::Status ToStatus(const std::string& table) const {
    if (problems_.empty()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("table \"", table, "\": ", absl::StrJoin(problems_, "; ")));
  }

 private:
  std::vector<std::string> problems_;
};

void CheckSignature(const TableConfig& config, Problems* problems) {
  if (config.signature.empty() || config.signature.size() > kMaxColumns) {
    problems->Add("signature: has ", config.signature.size(), " columns; 1 to ", kMaxColumns, " are allowed");
  }
  std::set<std::string> names;
  int64_t row_bytes = 0;
  for (const ArraySpec& column : config.signature) {
    const absl::Status valid = column.Validate();
    problems->AddIfBad("signature", valid);
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
  std::map<std::string, const ArraySpec*> columns;
  std::vector<std::string> known;
  for (const ArraySpec& column : config.signature) {
    columns.emplace(column.name, &column);
    known.push_back(column.name);
  }
  std::set<std::string> names;
  for (const ViewField& field : config.view) {
    problems->AddIfBad("view", ValidateName(field.name));
    if (absl::StartsWith(field.name, kReservedPrefix)) {
      problems->Add("view: field ", field.name, ": names that begin with ", kReservedPrefix, " are taken");
    }
    if (!names.insert(field.name).second) {
      problems->Add("view: field ", field.name, " is there twice");
    }
    if (absl::string_view(RowsName(field.rows)) == "unknown") {
      problems->Add("view: field ", field.name, ": ", static_cast<int>(field.rows), " is no choice of rows");
    }
    const auto column = columns.find(field.column);
    if (column == columns.end()) {
      problems->Add("view: field ", field.name, ": no column named \"", field.column, "\"",
                    DidYouMean(field.column, known), "; the columns are ", absl::StrJoin(known, ", "));
      continue;
    }
    const size_t rank = column->second->shape.size() + (field.rows == ViewField::Rows::kAll ? 2 : 1);
    if (rank > kMaxRank) {
      problems->Add("view: field ", field.name, " would have ", rank, " dimensions in a batch; at most ", kMaxRank,
                    " are allowed");
    }
  }
}

void CheckLimits(const TableConfig& config, Problems* problems) {
  problems->CheckRange("max_items", config.max_items, 1, kMaxItems);
  problems->CheckRange("max_window", config.max_window, 1, kMaxWindow);
  if (config.max_bytes < 1) {
    problems->Add("max_bytes: ", config.max_bytes, " is less than 1");
  }
  problems->CheckRange("max_times_sampled", config.max_times_sampled, 0, kMaxTimesSampled);
}

void CheckRateLimiter(const TableConfig& config, Problems* problems) {
  const RateLimiterConfig& limiter = config.rate_limiter;
  problems->CheckNotNegative("rate_limiter.samples_per_insert", limiter.samples_per_insert);
  problems->CheckNotNegative("rate_limiter.error_buffer", limiter.error_buffer);
  if (limiter.min_items < 1) {
    problems->Add("rate_limiter.min_items: ", limiter.min_items, " is less than 1");
  }
  if (limiter.min_items > config.max_items) {
    problems->Add("rate_limiter.min_items: ", limiter.min_items, " is more than max_items, ", config.max_items,
                  ": nothing could ever be sampled");
  }
  if (limiter.samples_per_insert > 0 && 2 * limiter.error_buffer < limiter.samples_per_insert + 1) {
    problems->Add("rate_limiter.error_buffer: ", limiter.error_buffer, " is too small: with samples_per_insert ",
                  limiter.samples_per_insert, " it must be at least ", (limiter.samples_per_insert + 1) / 2,
                  ", or inserts and samples would block each other");
  }
}

std::string DescribeView(const std::vector<ViewField>& view) {
  return absl::StrCat("[",
                      absl::StrJoin(view, ", ",
                                    [](std::string* out, const ViewField& field) {
                                      absl::StrAppend(out, field.name, " = ", RowsName(field.rows), " ", field.column);
                                    }),
                      "]");
}

}  // namespace

absl::Status TableConfig::Validate() const {
  Problems problems;
  problems.AddIfBad("name", ValidateName(name));
  CheckSignature(*this, &problems);
  CheckView(*this, &problems);
  if (absl::string_view(KindName(sampler.kind)) == "unknown") {
    problems.Add("sampler: ", static_cast<int>(sampler.kind), " is no kind of sampler");
  }
  if (sampler.kind == SamplerConfig::Kind::kPrioritized) {
    problems.CheckNotNegative("sampler.priority_exponent", sampler.priority_exponent);
  }
  if (remover.kind != RemoverConfig::Kind::kFifo) {
    problems.Add("remover: ", static_cast<int>(remover.kind), " is no kind of remover");
  }
  CheckLimits(*this, &problems);
  CheckRateLimiter(*this, &problems);
  return problems.ToStatus(name);
}

std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b) {
  std::vector<std::string> differences;
  const auto compare = [&differences](absl::string_view field, const auto& x, const auto& y) {
    if (x != y) {
      differences.push_back(absl::StrCat(field, ": ", x, " and ", y));
    }
  };
  compare("name", a.name, b.name);
  compare("signature", DebugString(a.signature), DebugString(b.signature));
  compare("view", DescribeView(a.view), DescribeView(b.view));
  compare("sampler", absl::string_view(KindName(a.sampler.kind)), absl::string_view(KindName(b.sampler.kind)));
  if (a.sampler.kind == SamplerConfig::Kind::kPrioritized && b.sampler.kind == SamplerConfig::Kind::kPrioritized) {
    compare("sampler.priority_exponent", a.sampler.priority_exponent, b.sampler.priority_exponent);
  }
  compare("remover", static_cast<int>(a.remover.kind), static_cast<int>(b.remover.kind));
  compare("rate_limiter.samples_per_insert", a.rate_limiter.samples_per_insert, b.rate_limiter.samples_per_insert);
  compare("rate_limiter.min_items", a.rate_limiter.min_items, b.rate_limiter.min_items);
  compare("rate_limiter.error_buffer", a.rate_limiter.error_buffer, b.rate_limiter.error_buffer);
  compare("max_items", a.max_items, b.max_items);
  compare("max_bytes", a.max_bytes, b.max_bytes);
  compare("max_times_sampled", a.max_times_sampled, b.max_times_sampled);
  compare("max_window", a.max_window, b.max_window);
  return differences;
}

}  // namespace waggle
