#include "common/onnx/onnx_graph.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"

namespace waggle {
namespace {

onnx::TensorProto::DataType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return onnx::TensorProto::BOOL;
    case DType::kUint8:
      return onnx::TensorProto::UINT8;
    case DType::kInt8:
      return onnx::TensorProto::INT8;
    case DType::kInt16:
      return onnx::TensorProto::INT16;
    case DType::kInt32:
      return onnx::TensorProto::INT32;
    case DType::kInt64:
      return onnx::TensorProto::INT64;
    case DType::kFloat16:
      return onnx::TensorProto::FLOAT16;
    case DType::kBfloat16:
      return onnx::TensorProto::BFLOAT16;
    case DType::kFloat32:
      return onnx::TensorProto::FLOAT;
    case DType::kFloat64:
      return onnx::TensorProto::DOUBLE;
  }
  return onnx::TensorProto::UNDEFINED;
}

// The shape of both, broadcast.
std::vector<int64_t> Broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    WAGGLE_CHECK(of_a == of_b || of_a == 1 || of_b == 1,
                 "an exported operation has arguments of shapes that do not fit");
    shape[shape.size() - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return shape;
}

template <class Number>
std::string BytesOf(const std::vector<Number>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
}

void Describe(const std::string& name, DType dtype, const std::vector<int64_t>& shape, onnx::ValueInfoProto* info) {
  info->set_name(name);
  onnx::TypeProto::Tensor* const type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(TypeOf(dtype));
  type->mutable_shape();
  for (const int64_t size : shape) {
    onnx::TensorShapeProto::Dimension* const dimension = type->mutable_shape()->add_dim();
    if (size == kRows) {
      dimension->set_dim_param("batch");
    } else {
      dimension->set_dim_value(size);
    }
  }
}

size_t AxisOf(const OnnxValue& value, int64_t axis) {
  return static_cast<size_t>(axis < 0 ? axis + value.rank() : axis);
}

}  // namespace

OnnxValue OnnxGraph::Input(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  Describe(name, dtype, shape, graph_.add_input());
  return {name, dtype, std::move(shape)};
}

void OnnxGraph::Output(const std::string& name, const OnnxValue& value) {
  onnx::NodeProto* const node = graph_.add_node();
  node->set_op_type("Identity");
  node->set_name(name);
  node->add_input(value.name);
  node->add_output(name);
  Describe(name, value.dtype, value.shape, graph_.add_output());
}

OnnxValue OnnxGraph::Parameter(const std::string& name, const ArraySpec& spec, const ByteSlices& data) {
  onnx::TensorProto* const tensor = graph_.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TypeOf(spec.dtype));
  for (const int64_t size : spec.shape) {
    tensor->add_dims(size);
  }
  std::string* const bytes = tensor->mutable_raw_data();
  bytes->resize(data.size());
  data.CopyTo(bytes->data());
  bytes_ += static_cast<int64_t>(data.size());
  return {name, spec.dtype, spec.shape};
}

OnnxValue OnnxGraph::Constant(DType dtype, std::vector<int64_t> shape, std::string bytes) {
  const std::string key = absl::StrCat(DTypeName(dtype), "[", absl::StrJoin(shape, ","), "]", bytes);
  const auto found = constants_.find(key);
  if (found != constants_.end()) {
    return found->second;
  }
  const ByteSlices data(ByteSlice{bytes.data(), bytes.size(), nullptr});
  const OnnxValue value = Parameter(absl::StrCat("_", ++values_), {"", dtype, std::move(shape)}, data);
  constants_[key] = value;
  return value;
}

OnnxValue OnnxGraph::Floats(const std::vector<float>& values, std::vector<int64_t> shape) {
  return Constant(DType::kFloat32, std::move(shape), BytesOf(values));
}

OnnxValue OnnxGraph::Doubles(const std::vector<double>& values, std::vector<int64_t> shape) {
  return Constant(DType::kFloat64, std::move(shape), BytesOf(values));
}

OnnxValue OnnxGraph::Ints(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  return Constant(DType::kInt64, std::move(shape), BytesOf(values));
}

OnnxValue OnnxGraph::Node(const char* operation, const std::vector<std::string>& inputs, DType dtype,
                          std::vector<int64_t> shape) {
  const std::string name = absl::StrCat("_", ++values_);
  onnx::NodeProto* const node = graph_.add_node();
  node->set_op_type(operation);
  node->set_name(name);
  for (const std::string& input : inputs) {
    node->add_input(input);
  }
  node->add_output(name);
  return {name, dtype, std::move(shape)};
}

void OnnxGraph::SetInt(const char* name, int64_t value) {
  onnx::AttributeProto* const attribute = graph_.mutable_node(graph_.node_size() - 1)->add_attribute();
  attribute->set_name(name);
  attribute->set_i(value);
  attribute->set_type(onnx::AttributeProto::INT);
}

void OnnxGraph::SetInts(const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto* const attribute = graph_.mutable_node(graph_.node_size() - 1)->add_attribute();
  attribute->set_name(name);
  for (const int64_t value : values) {
    attribute->add_ints(value);
  }
  attribute->set_type(onnx::AttributeProto::INTS);
}

void OnnxGraph::SetFloat(const char* name, double value) {
  onnx::AttributeProto* const attribute = graph_.mutable_node(graph_.node_size() - 1)->add_attribute();
  attribute->set_name(name);
  attribute->set_f(static_cast<float>(value));
  attribute->set_type(onnx::AttributeProto::FLOAT);
}

OnnxValue OnnxGraph::Binary(const char* operation, const OnnxValue& a, const OnnxValue& b) {
  WAGGLE_CHECK(a.dtype == b.dtype, "an exported operation has arguments of two types");
  return Node(operation, {a.name, b.name}, a.dtype, Broadcast(a.shape, b.shape));
}

OnnxValue OnnxGraph::Compare(const char* operation, const OnnxValue& a, const OnnxValue& b) {
  OnnxValue value = Binary(operation, a, b);
  value.dtype = DType::kBool;
  return value;
}

OnnxValue OnnxGraph::Where(const OnnxValue& condition, const OnnxValue& a, const OnnxValue& b) {
  return Node("Where", {condition.name, a.name, b.name}, a.dtype,
              Broadcast(condition.shape, Broadcast(a.shape, b.shape)));
}

OnnxValue OnnxGraph::Clip(const OnnxValue& value, const OnnxValue& low, const OnnxValue& high) {
  return Node("Clip", {value.name, low.name, high.name}, value.dtype, value.shape);
}

OnnxValue OnnxGraph::Unary(const char* operation, const OnnxValue& value) {
  return Node(operation, {value.name}, value.dtype, value.shape);
}

OnnxValue OnnxGraph::LeakyRelu(const OnnxValue& value, double slope) {
  const OnnxValue result = Unary("LeakyRelu", value);
  SetFloat("alpha", slope);
  return result;
}

OnnxValue OnnxGraph::Cast(const OnnxValue& value, DType dtype) {
  if (value.dtype == dtype) {
    return value;
  }
  const OnnxValue result = Node("Cast", {value.name}, dtype, value.shape);
  SetInt("to", TypeOf(dtype));
  return result;
}

OnnxValue OnnxGraph::MatMul(const OnnxValue& a, const OnnxValue& b) {
  const auto lead = [](const OnnxValue& value) {
    return std::vector<int64_t>(value.shape.begin(), value.shape.end() - 2);
  };
  std::vector<int64_t> shape = Broadcast(lead(a), lead(b));
  shape.push_back(a.shape[AxisOf(a, -2)]);
  shape.push_back(b.shape.back());
  return Node("MatMul", {a.name, b.name}, a.dtype, std::move(shape));
}

OnnxValue OnnxGraph::Gemm(const OnnxValue& x, const OnnxValue& weight, const OnnxValue& bias) {
  const OnnxValue result = Node("Gemm", {x.name, weight.name, bias.name}, x.dtype, {x.shape[0], weight.shape[0]});
  SetInt("transB", 1);
  return result;
}

OnnxValue OnnxGraph::Conv(const OnnxValue& x, const OnnxValue& weight, const OnnxValue& bias, int64_t stride,
                          int64_t padding) {
  const auto size = [&](size_t axis) { return (x.shape[axis] + 2 * padding - weight.shape[axis]) / stride + 1; };
  const OnnxValue result =
      Node("Conv", {x.name, weight.name, bias.name}, x.dtype, {x.shape[0], weight.shape[0], size(2), size(3)});
  SetInts("kernel_shape", {weight.shape[2], weight.shape[3]});
  SetInts("strides", {stride, stride});
  SetInts("pads", {padding, padding, padding, padding});
  return result;
}

OnnxValue OnnxGraph::LayerNorm(const OnnxValue& x, const OnnxValue& scale, const OnnxValue& bias, double epsilon) {
  std::vector<std::string> inputs = {x.name, scale.name};
  if (!bias.name.empty()) {
    inputs.push_back(bias.name);
  }
  const OnnxValue result = Node("LayerNormalization", inputs, x.dtype, x.shape);
  SetInt("axis", -scale.rank());
  SetFloat("epsilon", epsilon);
  return result;
}

OnnxValue OnnxGraph::Transposed(const OnnxValue& value) {
  std::vector<int64_t> order(value.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return Permuted(value, order);
}

OnnxValue OnnxGraph::Permuted(const OnnxValue& value, const std::vector<int64_t>& order) {
  std::vector<int64_t> shape;
  for (const int64_t axis : order) {
    shape.push_back(value.shape[static_cast<size_t>(axis)]);
  }
  const OnnxValue result = Node("Transpose", {value.name}, value.dtype, std::move(shape));
  SetInts("perm", order);
  return result;
}

OnnxValue OnnxGraph::Reshape(const OnnxValue& value, std::vector<int64_t> shape) {
  if (shape == value.shape) {
    return value;
  }
  const OnnxValue wanted = Ints(shape, {static_cast<int64_t>(shape.size())});
  return Node("Reshape", {value.name, wanted.name}, value.dtype, std::move(shape));
}

OnnxValue OnnxGraph::Slice(const OnnxValue& value, int64_t axis, int64_t first, int64_t count) {
  const size_t at = AxisOf(value, axis);
  if (first == 0 && count == value.shape[at]) {
    return value;
  }
  std::vector<int64_t> shape = value.shape;
  shape[at] = count;
  const OnnxValue begin = Ints({first}, {1});
  const OnnxValue end = Ints({first + count}, {1});
  const OnnxValue along = Ints({static_cast<int64_t>(at)}, {1});
  return Node("Slice", {value.name, begin.name, end.name, along.name}, value.dtype, std::move(shape));
}

OnnxValue OnnxGraph::Concat(const std::vector<OnnxValue>& values, int64_t axis) {
  if (values.size() == 1) {
    return values[0];
  }
  const size_t at = AxisOf(values[0], axis);
  std::vector<int64_t> shape = values[0].shape;
  std::vector<std::string> names;
  shape[at] = 0;
  for (const OnnxValue& value : values) {
    names.push_back(value.name);
    shape[at] += value.shape[at];
  }
  const OnnxValue result = Node("Concat", names, values[0].dtype, std::move(shape));
  SetInt("axis", static_cast<int64_t>(at));
  return result;
}

OnnxValue OnnxGraph::ExpandedLike(const OnnxValue& value, const OnnxValue& like) {
  const OnnxValue shape = Node("Shape", {like.name}, DType::kInt64, {like.rank()});
  return Node("Expand", {value.name, shape.name}, value.dtype, like.shape);
}

OnnxValue OnnxGraph::Gather(const OnnxValue& table, const OnnxValue& index, int64_t axis) {
  const size_t at = AxisOf(table, axis);
  std::vector<int64_t> shape(table.shape.begin(), table.shape.begin() + static_cast<std::ptrdiff_t>(at));
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), table.shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, table.shape.end());
  const OnnxValue result = Node("Gather", {table.name, index.name}, table.dtype, std::move(shape));
  SetInt("axis", static_cast<int64_t>(at));
  return result;
}

OnnxValue OnnxGraph::Reduce(const char* operation, const OnnxValue& value, int64_t axis, bool keep) {
  const size_t at = AxisOf(value, axis);
  std::vector<int64_t> shape = value.shape;
  if (keep) {
    shape[at] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::vector<std::string> inputs = {value.name};
  const bool by_input = absl::string_view(operation) == "ReduceSum";  // The others follow in version 18.
  if (by_input) {
    inputs.push_back(Ints({static_cast<int64_t>(at)}, {1}).name);
  }
  const OnnxValue result = Node(operation, inputs, value.dtype, std::move(shape));
  if (!by_input) {
    SetInts("axes", {static_cast<int64_t>(at)});
  }
  SetInt("keepdims", keep ? 1 : 0);
  return result;
}

OnnxValue OnnxGraph::Soft(const char* operation, const OnnxValue& value) {
  const OnnxValue result = Unary(operation, value);
  SetInt("axis", -1);
  return result;
}

OnnxValue OnnxGraph::ArgMax(const OnnxValue& value, bool keep) {
  std::vector<int64_t> shape = value.shape;
  shape.back() = 1;
  if (!keep) {
    shape.pop_back();
  }
  const OnnxValue result = Node("ArgMax", {value.name}, DType::kInt64, std::move(shape));
  SetInt("axis", -1);
  SetInt("keepdims", keep ? 1 : 0);
  return result;
}

}  // namespace waggle
