#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/tensor/dtype.h"
#include "onnx/onnx.pb.h"

namespace waggle {

// The size of the dimension of rows, whose number is free.
inline constexpr int64_t kRows = -1;

// A value of a graph under construction: an input, a constant or an operation's result.
struct OnnxValue {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // At most one dimension is kRows.

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

// Writes an ONNX graph, operation by operation, in the order of the calls: version 17 of ONNX's own operators. Shapes
// follow from the arguments; they must fit, as no operation can fail. Not thread-safe.
class OnnxGraph {
 public:
  static constexpr int64_t kOperators = 17;
  static constexpr int64_t kFormat = 8;

  // Names of inputs, outputs and parameters are unique.
  OnnxValue Input(const std::string& name, DType dtype, std::vector<int64_t> shape);
  void Output(const std::string& name, const OnnxValue& value);
  // A named constant; its data has the spec's size.
  OnnxValue Parameter(const std::string& name, const ArraySpec& spec, const ByteSlices& data);

  // Constants of equal content are one.
  OnnxValue Floats(const std::vector<float>& values, std::vector<int64_t> shape);
  OnnxValue Doubles(const std::vector<double>& values, std::vector<int64_t> shape);
  OnnxValue Ints(const std::vector<int64_t>& values, std::vector<int64_t> shape);
  // A scalar.
  OnnxValue Float(double value) { return Floats({static_cast<float>(value)}, {}); }

  // Element by element, with broadcasting. Comparisons give bools.
  OnnxValue Add(const OnnxValue& a, const OnnxValue& b) { return Binary("Add", a, b); }
  OnnxValue Sub(const OnnxValue& a, const OnnxValue& b) { return Binary("Sub", a, b); }
  OnnxValue Mul(const OnnxValue& a, const OnnxValue& b) { return Binary("Mul", a, b); }
  OnnxValue Div(const OnnxValue& a, const OnnxValue& b) { return Binary("Div", a, b); }
  OnnxValue Equal(const OnnxValue& a, const OnnxValue& b) { return Compare("Equal", a, b); }
  OnnxValue Greater(const OnnxValue& a, const OnnxValue& b) { return Compare("Greater", a, b); }
  OnnxValue Where(const OnnxValue& condition, const OnnxValue& a, const OnnxValue& b);
  // Within [low, high], scalars of the value's type.
  OnnxValue Clip(const OnnxValue& value, const OnnxValue& low, const OnnxValue& high);
  // An operation of one argument that keeps its shape and type: "Tanh", "Relu", "Not".
  OnnxValue Unary(const char* operation, const OnnxValue& value);
  OnnxValue LeakyRelu(const OnnxValue& value, double slope);
  OnnxValue Cast(const OnnxValue& value, DType dtype);

  // a [..., n, k] times b [..., k, m], whose leading dimensions are broadcast.
  OnnxValue MatMul(const OnnxValue& a, const OnnxValue& b);
  // x [rows, in] times weight [out, in] transposed, plus bias [out].
  OnnxValue Gemm(const OnnxValue& x, const OnnxValue& weight, const OnnxValue& bias);
  OnnxValue Conv(const OnnxValue& x, const OnnxValue& weight, const OnnxValue& bias, int64_t stride, int64_t padding);
  // Over the last dimensions, as many as those of `scale`. A `bias` without a name is left out.
  OnnxValue LayerNorm(const OnnxValue& x, const OnnxValue& scale, const OnnxValue& bias, double epsilon);

  // Swaps the last two dimensions.
  OnnxValue Transposed(const OnnxValue& value);
  OnnxValue Permuted(const OnnxValue& value, const std::vector<int64_t>& order);
  OnnxValue Reshape(const OnnxValue& value, std::vector<int64_t> shape);
  // `axis` may be negative.
  OnnxValue Slice(const OnnxValue& value, int64_t axis, int64_t first, int64_t count);
  OnnxValue Concat(const std::vector<OnnxValue>& values, int64_t axis);
  // Repeats [..., n] as often as `like`, of more dimensions, has places for it.
  OnnxValue ExpandedLike(const OnnxValue& value, const OnnxValue& like);
  // The rows of `table` along `axis` at `index`.
  OnnxValue Gather(const OnnxValue& table, const OnnxValue& index, int64_t axis);

  // "ReduceMean", "ReduceMin", "ReduceMax", "ReduceLogSumExp", "ReduceSum", along one axis, which goes or becomes 1.
  OnnxValue Reduce(const char* operation, const OnnxValue& value, int64_t axis, bool keep = false);
  // "Softmax" or "LogSoftmax" along the last axis.
  OnnxValue Soft(const char* operation, const OnnxValue& value);
  // The index of the first largest along the last axis, int64; the axis goes, or becomes 1.
  OnnxValue ArgMax(const OnnxValue& value, bool keep = false);

  // The bytes of parameters and constants.
  int64_t bytes() const { return bytes_; }
  // Moves the graph out.
  onnx::GraphProto Take() { return std::move(graph_); }

 private:
  OnnxValue Node(const char* operation, const std::vector<std::string>& inputs, DType dtype,
                 std::vector<int64_t> shape);
  OnnxValue Binary(const char* operation, const OnnxValue& a, const OnnxValue& b);
  OnnxValue Compare(const char* operation, const OnnxValue& a, const OnnxValue& b);
  OnnxValue Constant(DType dtype, std::vector<int64_t> shape, std::string bytes);
  // Attributes of the newest node.
  void SetInt(const char* name, int64_t value);
  void SetInts(const char* name, const std::vector<int64_t>& values);
  void SetFloat(const char* name, double value);

  onnx::GraphProto graph_;
  std::map<std::string, OnnxValue> constants_;  // By type, shape and content.
  int64_t values_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace waggle
