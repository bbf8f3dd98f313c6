#include "common/rl/checkpoint/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kTextsName[] = "__metadata__";
constexpr size_t kAlignment = 64;

struct ElementType {
  DType dtype;
  absl::string_view name;
};
constexpr ElementType kElementTypes[] = {{DType::kBool, "BOOL"},   {DType::kUint8, "U8"},      {DType::kInt8, "I8"},
                                         {DType::kInt16, "I16"},   {DType::kInt32, "I32"},     {DType::kInt64, "I64"},
                                         {DType::kFloat16, "F16"}, {DType::kBfloat16, "BF16"}, {DType::kFloat32, "F32"},
                                         {DType::kFloat64, "F64"}};

absl::string_view ElementTypeName(DType dtype) {
  const auto* const it = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                      [dtype](const ElementType& type) { return type.dtype == dtype; });
  return it == std::end(kElementTypes) ? "" : it->name;
}

// For messages: limits the length.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 200)), "\"");
}

// In quotes. INVALID_ARGUMENT unless it is UTF-8, as JSON requires.
absl::StatusOr<std::string> JsonString(absl::string_view name, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(absl::StrCat("the text ", Quoted(name), " is not UTF-8"));
  }
}

// Receives a header as it is parsed. Stops at the first unexpected part, so that nothing else is kept.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Misplaced("null"); }
  bool boolean(bool) override { return Misplaced("a truth value"); }
  bool number_integer(number_integer_t) override { return Misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Misplaced("a number that is not whole"); }
  bool binary(binary_t&) override { return Misplaced("bytes"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (at_ != At::kNumbers) {
      return Misplaced("a number");
    }
    if (number > static_cast<number_unsigned_t>(std::numeric_limits<int64_t>::max())) {
      return Refuse(absl::StrCat(key_, " has the number ", number));
    }
    std::vector<int64_t>& numbers = key_ == "shape" ? tensor_.spec.shape : offsets_;
    const size_t most = key_ == "shape" ? size_t{kMaxRank} : 2;
    if (numbers.size() >= most) {
      return Refuse(absl::StrCat(key_, " has more than ", most, " numbers"));
    }
    numbers.push_back(static_cast<int64_t>(number));
    return true;
  }

  bool string(string_t& text) override {
    if (at_ == At::kTexts) {
      header_.texts.emplace_back(std::move(key_), std::move(text));
      return true;
    }
    if (at_ != At::kTensor || key_ != "dtype") {
      return Misplaced("a string");
    }
    const auto* const it = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                        [&](const ElementType& type) { return type.name == text; });
    if (it == std::end(kElementTypes)) {
      return Refuse(absl::StrCat("Waggle has no element type ", Quoted(text)));
    }
    tensor_.spec.dtype = it->dtype;
    return true;
  }

  bool start_object(size_t) override {
    if (at_ == At::kStart) {
      at_ = At::kTensors;
    } else if (at_ == At::kTensors && key_ == kTextsName) {
      at_ = At::kTexts;
    } else if (at_ == At::kTensors) {
      at_ = At::kTensor;
      tensor_ = SafetensorsEntry();
      tensor_.spec.name = key_;
      offsets_.clear();
      fields_.clear();
    } else {
      return Misplaced("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    std::set<std::string>& known = at_ == At::kTensors ? names_ : at_ == At::kTexts ? text_names_ : fields_;
    if (!known.insert(key).second) {
      return Refuse(absl::StrCat("it has ", Quoted(key), " twice"));
    }
    if (at_ == At::kTensor && key != "dtype" && key != "shape" && key != "data_offsets") {
      return Refuse(absl::StrCat("a tensor has no field ", Quoted(key)));
    }
    key_ = std::move(key);
    return true;
  }

  bool end_object() override {
    if (at_ == At::kTensor) {
      if (!FinishTensor()) {
        return false;
      }
      at_ = At::kTensors;
    } else {
      at_ = at_ == At::kTexts ? At::kTensors : At::kEnd;
    }
    return true;
  }

  bool start_array(size_t) override {
    if (at_ != At::kTensor || key_ == "dtype") {
      return Misplaced("a list");
    }
    at_ = At::kNumbers;
    return true;
  }

  bool end_array() override {
    at_ = At::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return Refuse(absl::StrCat("not JSON at byte ", position));
  }

  const std::string& problem() const { return problem_; }
  SafetensorsHeader& header() { return header_; }

 private:
  enum class At { kStart, kTensors, kTexts, kTensor, kNumbers, kEnd };

  bool Refuse(std::string problem) {
    const bool in_tensor = at_ == At::kTensor || at_ == At::kNumbers;
    problem_ = in_tensor ? absl::StrCat(Quoted(tensor_.spec.name), ": ", problem) : std::move(problem);
    return false;
  }
  bool Misplaced(absl::string_view what) { return Refuse(absl::StrCat(Quoted(key_), " is not to be ", what)); }

  bool FinishTensor() {
    if (fields_.size() != 3 || offsets_.size() != 2) {
      return Refuse("a tensor has a dtype, a shape and data_offsets, which are two");
    }
    if (const absl::Status status = tensor_.spec.Validate(); !status.ok()) {
      return Refuse(std::string(status.message()));
    }
    if (offsets_[1] < offsets_[0] || offsets_[1] - offsets_[0] != tensor_.spec.NumBytes()) {
      return Refuse(absl::StrCat("its data_offsets [", absl::StrJoin(offsets_, ", "), "] are not ",
                                 tensor_.spec.NumBytes(), " bytes apart, as ", tensor_.spec.DebugString(), " is long"));
    }
    tensor_.offset = offsets_[0];
    header_.tensors.push_back(std::move(tensor_));
    return true;
  }

  At at_ = At::kStart;
  std::string key_;  // The last one.
  std::string problem_;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  std::set<std::string> text_names_;
  // The tensor that is being read.
  SafetensorsEntry tensor_;
  std::vector<int64_t> offsets_;
  std::set<std::string> fields_;
};

// Tensors must be contiguous and end where the file does. Sums cannot overflow: headers have at most 2^20 tensors of at
// most 2^40 bytes.
absl::Status CheckLayout(const std::vector<SafetensorsEntry>& tensors, int64_t data_bytes) {
  int64_t end = 0;
  for (const size_t index : OrderInFile(tensors)) {
    const SafetensorsEntry& tensor = tensors[index];
    if (tensor.offset != end) {
      return absl::DataLossError(absl::StrCat("the header puts ", tensor.spec.DebugString(), " at byte ", tensor.offset,
                                              "; wanted byte ", end, ", the next one"));
    }
    end += tensor.spec.NumBytes();
  }
  if (end != data_bytes) {
    return absl::DataLossError(
        absl::StrCat("the tensors take ", end, " bytes, and ", data_bytes, " follow the header"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<SafetensorsEntry> LayOutTensors(const std::vector<ArraySpec>& specs) {
  std::vector<size_t> order(specs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return DTypeSize(specs[a].dtype) > DTypeSize(specs[b].dtype); });
  std::vector<SafetensorsEntry> tensors(specs.size());
  int64_t end = 0;
  for (const size_t index : order) {
    tensors[index] = {specs[index], end};
    end += specs[index].NumBytes();
  }
  return tensors;
}

std::vector<size_t> OrderInFile(const std::vector<SafetensorsEntry>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  // If tensors begin at the same byte, all but the last are empty.
  const auto place = [&](size_t i) { return std::make_pair(tensors[i].offset, tensors[i].spec.NumBytes()); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  return order;
}

int64_t DataBytes(const std::vector<SafetensorsEntry>& tensors) {
  int64_t end = 0;
  for (const SafetensorsEntry& tensor : tensors) {
    end = std::max(end, tensor.offset + tensor.spec.NumBytes());
  }
  return end;
}

absl::StatusOr<std::string> EncodeSafetensorsHeader(const SafetensorsHeader& header) {
  std::string bytes(kSafetensorsLengthBytes, '\0');
  std::string separator = "{";
  if (!header.texts.empty()) {
    absl::StrAppend(&bytes, "{\"", kTextsName, "\":");
    for (const auto& [name, text] : header.texts) {
      WAGGLE_ASSIGN_OR_RETURN(const std::string key, JsonString(name, name));
      WAGGLE_ASSIGN_OR_RETURN(const std::string value, JsonString(name, text));
      absl::StrAppend(&bytes, separator, key, ":", value);
      separator = ",";
    }
    absl::StrAppend(&bytes, "}");
  }
  for (const SafetensorsEntry& tensor : header.tensors) {
    if (tensor.spec.name == kTextsName) {
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor is not named ", kTextsName, ": that is the texts' name"));
    }
    // Valid names need no escapes.
    absl::StrAppend(&bytes, separator, "\"", tensor.spec.name, "\":{\"dtype\":\"", ElementTypeName(tensor.spec.dtype),
                    "\",\"shape\":[", absl::StrJoin(tensor.spec.shape, ","), "],\"data_offsets\":[", tensor.offset, ",",
                    tensor.offset + tensor.spec.NumBytes(), "]}");
    separator = ",";
  }
  absl::StrAppend(&bytes, separator == "{" ? "{}" : "}");
  bytes.append((kAlignment - bytes.size() % kAlignment) % kAlignment, ' ');
  const auto length = static_cast<int64_t>(bytes.size()) - kSafetensorsLengthBytes;
  if (length > kMaxSafetensorsHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the header takes ", length, " bytes; at most ",
                                                   kMaxSafetensorsHeaderBytes,
                                                   " are allowed: keep large state in arrays"));
  }
  for (int i = 0; i < kSafetensorsLengthBytes; ++i) {
    bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
  }
  return bytes;
}

absl::StatusOr<int64_t> ParseSafetensorsLength(absl::string_view bytes, int64_t file_bytes) {
  if (static_cast<int64_t>(bytes.size()) < kSafetensorsLengthBytes || file_bytes < kSafetensorsLengthBytes) {
    return absl::DataLossError("the file is shorter than the length of its header");
  }
  uint64_t length = 0;
  for (int i = 0; i < kSafetensorsLengthBytes; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  const int64_t most = std::min(kMaxSafetensorsHeaderBytes, file_bytes - kSafetensorsLengthBytes);
  if (length > static_cast<uint64_t>(most)) {
    return absl::DataLossError(absl::StrCat("the header is said to have ", length, " bytes; at most ", most,
                                            " are possible in a file of ", file_bytes));
  }
  return static_cast<int64_t>(length);
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json, int64_t data_bytes) {
  // The parser would ignore a byte order mark before the JSON and all text after a zero.
  if (json.empty() || json.front() != '{' || json.find('\0') != absl::string_view::npos) {
    return absl::DataLossError("the header is malformed: not a JSON object");
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
    return absl::DataLossError(absl::StrCat("the header is malformed: ", reader.problem()));
  }
  WAGGLE_RETURN_IF_ERROR(CheckLayout(reader.header().tensors, data_bytes));
  return std::move(reader.header());
}

}  // namespace waggle
