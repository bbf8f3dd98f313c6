#include "actor/environments/rpc/rpc_spec.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/annotate.h"
#include "common/base/machine_memory.h"
#include "common/base/nearest_name.h"
#include "common/base/shown_text.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/dtype.h"
#include "common/net/channel.h"

namespace waggle {
namespace {

constexpr int kMaxTensors = kMaxColumns;
// The largest integer up to which doubles are exact.
constexpr double kMaxExact = 9007199254740992.0;
// Networks have an input for each choice, so an integer of a wider range is a number.
constexpr int64_t kMaxObservedChoices = 1024;

using Specs = google::protobuf::Map<uint64_t, dm::TensorSpec>;

// The name for a message, as a peer may send any text.
std::string Shown(const std::string& name) {
  return ValidateName(name).ok() ? name : absl::StrCat("\"", ShownText(name), "\"");
}

absl::Status Refused(const dm::TensorSpec& spec, const char* list, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(list, " ", Shown(spec.name()), ": ", why));
}

// The leaf's name for a server's name: below `root` unless it has a root already.
std::string LeafNameOf(const std::string& name, const char* root) {
  std::string path = absl::StrReplaceAll(name, {{".", "/"}});
  for (char& letter : path) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(letter)) && letter != '/' && letter != '_' && letter != '-') {
      letter = '_';
    }
  }
  const absl::StatusOr<LeafName> split = SplitLeafName(path);
  const bool has_root = split.ok() && (split->root == kActionRoot) == (root == std::string(kActionRoot));
  return has_root ? path : absl::StrCat(root, "/", path);
}

DType DTypeFor(dm::DataType type) {
  switch (type) {
    case dm::BOOL:
      return DType::kBool;
    case dm::INT8:
      return DType::kInt8;
    case dm::UINT8:
      return DType::kUint8;
    case dm::INT32:
      return DType::kInt32;
    case dm::INT64:
    case dm::UINT32:
    case dm::UINT64:
      return DType::kInt64;
    default:
      return DType::kFloat32;
  }
}

// A tensor of the server, with the bounds of one lane's elements.
struct Tensor {
  RpcLeaf leaf;
  std::vector<int64_t> shape;  // In one lane.
  int64_t elements = 1;
  std::vector<double> low;
  std::vector<double> high;
};

absl::StatusOr<Tensor> ReadTensorSpec(uint64_t uid, const dm::TensorSpec& spec, const char* list,
                                      const RpcSpecOptions& options) {
  if (!IsNumeric(spec.dtype()) && spec.dtype() != dm::BOOL) {
    return Refused(
        spec, list,
        absl::StrCat("has elements of type ", TypeName(spec.dtype()), ", which no array holds; wanted numbers or bool",
                     list == std::string(kObservationRoot) ? ", or observations without it" : ""));
  }
  Tensor tensor;
  tensor.leaf.name = spec.name();
  tensor.leaf.uid = uid;
  tensor.leaf.type = spec.dtype();
  tensor.leaf.shape.assign(spec.shape().begin(), spec.shape().end());
  const std::string shape_text = absl::StrCat("[", absl::StrJoin(spec.shape(), ", "), "]");
  if (tensor.leaf.shape.size() > kMaxRank + 1) {
    return Refused(spec, list, absl::StrCat("has ", spec.shape_size(), " dimensions; wanted at most ", kMaxRank));
  }
  int64_t elements = 1;  // In all lanes.
  for (const int64_t dimension : tensor.leaf.shape) {
    if (dimension < 1) {
      return Refused(spec, list, absl::StrCat("has the shape ", shape_text, "; wanted dimensions of a fixed size"));
    }
    elements *= dimension;
    if (MaxWireBytes(spec.dtype(), elements) > kMaxMessageBytes / 2) {
      return Refused(spec, list, absl::StrCat("has the shape ", shape_text, ", which does not fit into a message"));
    }
  }
  tensor.shape = tensor.leaf.shape;
  tensor.elements = elements;
  if (options.batched) {
    if (tensor.shape.empty() || tensor.shape[0] != options.lanes) {
      return Refused(spec, list,
                     absl::StrCat("has the shape ", shape_text, "; wanted [", options.lanes,
                                  ", …], of the lanes that were asked for"));
    }
    tensor.shape.erase(tensor.shape.begin());
    tensor.elements /= options.lanes;
  }
  for (auto [value, bounds] : {std::pair(&spec.min(), &tensor.low), std::pair(&spec.max(), &tensor.high)}) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ReadBounds(*value, elements, bounds), absl::StrCat(list, " ", Shown(spec.name()))));
    if (bounds->size() > 1) {  // All lanes have the first one's bounds.
      bounds->resize(static_cast<size_t>(tensor.elements));
    }
  }
  return tensor;
}

int64_t Elements(const RpcLeaf& leaf) {
  int64_t elements = 1;
  for (const int64_t dimension : leaf.shape) {
    elements *= dimension;
  }
  return elements;
}

// Adds a tensor to a message's bytes. INVALID_ARGUMENT if they exceed its limit.
absl::Status AddBytes(const RpcLeaf& leaf, const char* list, int64_t* bytes) {
  *bytes += MaxWireBytes(leaf.type, Elements(leaf));
  if (*bytes > kMaxMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("all ", list, "s together take up to ", *bytes,
                                                   " bytes or more; wanted at most ", kMaxMessageBytes,
                                                   ", the most that a message may have"));
  }
  return absl::OkStatus();
}

double BoundAt(const std::vector<double>& bounds, int64_t element) {
  return bounds[bounds.size() == 1 ? 0 : static_cast<size_t>(element)];
}

// True if every element is a choice: an integer with two bounds.
bool HasChoices(const Tensor& tensor, int64_t max_choices) {
  if (!IsInteger(tensor.leaf.type) || tensor.low.empty() || tensor.high.empty()) {
    return false;
  }
  for (int64_t i = 0; i < tensor.elements; ++i) {
    const double low = BoundAt(tensor.low, i);
    const double high = BoundAt(tensor.high, i);
    if (std::abs(low) > kMaxExact || std::abs(high) > kMaxExact || high < low ||
        high - low >= static_cast<double>(max_choices)) {
      return false;
    }
  }
  return true;
}

// Sets both sides' bounds if either side has any.
void SetBounds(const Tensor& tensor, SpaceLeaf* leaf) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (tensor.low.empty() && tensor.high.empty()) {
    return;
  }
  const size_t size = std::max({tensor.low.size(), tensor.high.size(), size_t{1}});
  for (size_t i = 0; i < size; ++i) {
    leaf->low.push_back(tensor.low.empty() ? -kInfinity : BoundAt(tensor.low, static_cast<int64_t>(i)));
    leaf->high.push_back(tensor.high.empty() ? kInfinity : BoundAt(tensor.high, static_cast<int64_t>(i)));
  }
}

SpaceLeaf LeafOf(const Tensor& tensor, std::string name, bool is_action, RpcLeaf* leaf) {
  if (tensor.leaf.type == dm::BOOL) {
    return MultiBinary(std::move(name), tensor.shape);
  }
  if ((tensor.shape.empty() || (is_action && tensor.shape.size() == 1)) &&
      HasChoices(tensor, is_action ? kMaxNumValues : kMaxObservedChoices)) {
    std::vector<int64_t> choices;
    for (int64_t i = 0; i < tensor.elements; ++i) {
      leaf->starts.push_back(static_cast<int64_t>(BoundAt(tensor.low, i)));
      choices.push_back(static_cast<int64_t>(BoundAt(tensor.high, i)) - leaf->starts.back() + 1);
    }
    if (std::all_of(leaf->starts.begin(), leaf->starts.end(), [](int64_t start) { return start == 0; })) {
      leaf->starts.clear();
    }
    return tensor.shape.empty() ? Discrete(std::move(name), choices[0])
                                : MultiDiscrete(std::move(name), std::move(choices));
  }
  SpaceLeaf box = Box(std::move(name), DTypeFor(tensor.leaf.type), tensor.shape);
  SetBounds(tensor, &box);
  // A constant has no room between its bounds, as a box must.
  if (!is_action && std::inner_product(box.low.begin(), box.low.end(), box.high.begin(), false, std::logical_or<>(),
                                       std::equal_to<>())) {
    box.low.clear();
    box.high.clear();
  }
  return box;
}

void Note(const Tensor& tensor, const SpaceLeaf& leaf, std::vector<std::string>* notes) {
  if (tensor.leaf.type == dm::DOUBLE) {
    notes->push_back(absl::StrCat(leaf.array.name, ": float64 is narrowed to float32"));
  }
}

// The specs by name.
absl::StatusOr<std::map<std::string, std::pair<uint64_t, const dm::TensorSpec*>>> ByName(const Specs& specs,
                                                                                         const char* list) {
  std::map<std::string, std::pair<uint64_t, const dm::TensorSpec*>> by_name;
  if (specs.size() > kMaxTensors) {
    return absl::InvalidArgumentError(absl::StrCat("got ", specs.size(), " ", list, "s; wanted at most ", kMaxTensors));
  }
  for (const auto& [uid, spec] : specs) {
    if (!by_name.emplace(spec.name(), std::pair(uid, &spec)).second) {
      return Refused(spec, list, "is there twice; wanted names that differ");
    }
  }
  return by_name;
}

// Reads observations into a spec.
class ObservationReader {
 public:
  ObservationReader(const RpcSpecOptions& options, RpcSpec* spec) : options_(options), spec_(spec) {}

  absl::Status Read(uint64_t uid, const dm::TensorSpec& said, bool is_asked_for) {
    const std::string name = LeafNameOf(said.name(), kObservationRoot);
    const absl::StatusOr<LeafName> parts = SplitLeafName(name);
    const bool is_reward = parts.ok() && parts->root == kRewardRoot && parts->path.empty();
    const bool is_discount = said.name() == kDiscountName;
    const bool is_step_type = options_.batched && said.name() == kStepTypeName;
    if (!is_asked_for && !is_reward && !is_discount && !is_step_type) {
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(Tensor tensor, ReadTensorSpec(uid, said, kObservationRoot, options_));
    WAGGLE_RETURN_IF_ERROR(AddBytes(tensor.leaf, kObservationRoot, &spec_->answer_bytes));
    if (is_reward) {
      return AddReward(said, tensor, name);
    }
    if (is_discount || is_step_type) {
      const bool right = tensor.shape.empty() && (is_discount ? IsNumeric(said.dtype()) : said.dtype() == dm::INT32);
      if (!right) {
        return Refused(said, kObservationRoot,
                       absl::StrCat("has elements of type ", TypeName(said.dtype()), " and ", tensor.shape.size(),
                                    " dimensions a lane; wanted a scalar", is_discount ? "" : " of INT32"));
      }
      (is_discount ? spec_->discount : spec_->step_type) = std::move(tensor.leaf);
      return absl::OkStatus();
    }
    RpcLeaf leaf = tensor.leaf;
    spec_->environment.observations.push_back(LeafOf(tensor, name, /*is_action=*/false, &leaf));
    spec_->observations.push_back(std::move(leaf));
    Note(tensor, spec_->environment.observations.back(), &spec_->notes);
    return absl::OkStatus();
  }

 private:
  absl::Status AddReward(const dm::TensorSpec& said, const Tensor& tensor, const std::string& name) {
    if (!IsNumeric(said.dtype()) || tensor.shape.size() > 1) {
      return Refused(said, kObservationRoot,
                     absl::StrCat("has elements of type ", TypeName(said.dtype()), " and ", tensor.shape.size(),
                                  " dimensions; wanted numbers, and at most one dimension"));
    }
    spec_->environment.rewards.push_back({name, DType::kFloat32, tensor.shape});
    spec_->rewards.emplace_back(tensor.leaf);
    return absl::OkStatus();
  }

  const RpcSpecOptions& options_;
  RpcSpec* const spec_;
};

absl::Status ReadObservations(const Specs& said, const RpcSpecOptions& options, RpcSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(const auto by_name, ByName(said, kObservationRoot));
  for (const std::string& wanted : options.observations) {
    if (by_name.count(wanted) == 0) {
      std::vector<std::string> names;
      for (const auto& [name, entry] : by_name) {
        names.push_back(name);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("observations: the server has no \"", wanted, "\"", DidYouMean(wanted, names)));
    }
  }
  spec->environment.rewards.clear();
  ObservationReader reader(options, spec);
  for (const auto& [name, entry] : by_name) {
    const std::vector<std::string>& asked = options.observations;
    const bool is_asked_for = asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
    WAGGLE_RETURN_IF_ERROR(reader.Read(entry.first, *entry.second, is_asked_for));
  }
  if (options.batched && !spec->step_type.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the server steps several lanes without an observation ", kStepTypeName, "; wanted one"));
  }
  return absl::OkStatus();
}

absl::Status ReadActions(const Specs& said, const RpcSpecOptions& options, RpcSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(const auto by_name, ByName(said, kActionRoot));
  int64_t bytes = 0;
  for (const auto& [name, entry] : by_name) {
    WAGGLE_ASSIGN_OR_RETURN(Tensor tensor, ReadTensorSpec(entry.first, *entry.second, kActionRoot, options));
    WAGGLE_RETURN_IF_ERROR(AddBytes(tensor.leaf, kActionRoot, &bytes));
    RpcLeaf leaf = tensor.leaf;
    spec->environment.actions.push_back(LeafOf(tensor, LeafNameOf(name, kActionRoot), /*is_action=*/true, &leaf));
    spec->actions.push_back(std::move(leaf));
    Note(tensor, spec->environment.actions.back(), &spec->notes);
  }
  return absl::OkStatus();
}

bool SameTensor(const RpcLeaf& a, const RpcLeaf& b) {
  return a.name == b.name && a.type == b.type && a.starts == b.starts;
}

}  // namespace

std::vector<const RpcLeaf*> RpcSpec::Requested() const {
  std::vector<const RpcLeaf*> requested;
  for (const RpcLeaf& leaf : observations) {
    requested.push_back(&leaf);
  }
  for (const std::optional<RpcLeaf>& leaf : rewards) {
    if (leaf.has_value()) {
      requested.push_back(&*leaf);
    }
  }
  for (const std::optional<RpcLeaf>* leaf : {&discount, &step_type}) {
    if (leaf->has_value()) {
      requested.push_back(&**leaf);
    }
  }
  return requested;
}

bool RpcSpec::Matches(const RpcSpec& other) const {
  const std::vector<const RpcLeaf*> own = Requested();
  const std::vector<const RpcLeaf*> others = other.Requested();
  return environment == other.environment &&
         std::equal(own.begin(), own.end(), others.begin(), others.end(),
                    [](const RpcLeaf* a, const RpcLeaf* b) { return SameTensor(*a, *b); }) &&
         std::equal(actions.begin(), actions.end(), other.actions.begin(), other.actions.end(), SameTensor);
}

absl::Status RpcSpec::CheckMemory(int64_t lanes) const {
  const int64_t row_bytes = BytesARow(ArraysOf(environment.observations));
  const int64_t memory = MachineMemoryBytes();
  if (2 * row_bytes > memory / 2 / lanes) {
    return absl::InvalidArgumentError(absl::StrCat("the observations of ", lanes, " lanes of ", row_bytes,
                                                   " bytes each, twice, take more than half of this machine's memory, ",
                                                   memory, " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RpcSpec> ReadSpecs(const dm::ActionObservationSpecs& specs, const RpcSpecOptions& options) {
  RpcSpec spec;
  spec.environment.name = options.environment_name;
  WAGGLE_RETURN_IF_ERROR(ReadObservations(specs.observations(), options, &spec));
  WAGGLE_RETURN_IF_ERROR(ReadActions(specs.actions(), options, &spec));
  if (spec.environment.rewards.empty()) {
    spec.environment.rewards = EnvironmentSpec().rewards;
    spec.rewards.emplace_back();
    spec.notes.push_back(absl::StrCat("the server has no observation ", kRewardRoot, "; rewards are 0"));
  }
  WAGGLE_RETURN_IF_ERROR(spec.environment.Validate());
  return spec;
}

}  // namespace waggle
