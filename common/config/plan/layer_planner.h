#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/plan/network_plan.h"

namespace waggle {

Activation ParseActivation(absl::string_view name);
Initialization ParseInitialization(absl::string_view name);

// Appends layers to a network's plan one after the other, and their parameters, and keeps the shape between them.
class LayerPlanner {
 public:
  // Appends to `parameters` and, running statistics, to `statistics`, which outlive it; LayerPlan::statistics is an
  // index into these. `members` is NetworkPlan's.
  LayerPlanner(std::optional<int64_t> members, std::vector<ArraySpec>* parameters, std::vector<ArraySpec>* statistics)
      : members_(members), parameters_(parameters), statistics_(statistics) {}

  // Begins anew with rows of this shape. `num_values`: choices of each element, if the elements are choices.
  void Begin(std::vector<int64_t> shape, std::vector<int64_t> num_values = {});
  // The present shape of a row.
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t width() const;
  // True if the rows have more than one dimension and no layer has touched them: an image, say, in its raw form.
  bool raw() const { return raw_ && shape_.size() > 1; }
  // True if the present rows are choices, which must become vectors first.
  bool choices() const { return !num_values_.empty(); }

  // INVALID_ARGUMENT, with both shapes, if the layer does not fit. `name` begins its parameters' names.
  absl::Status Add(const std::string& name, const LayerSpec& layer, std::vector<LayerPlan>* layers);
  absl::Status AddDense(const std::string& name, int64_t outputs, Activation activation, Initialization initialization,
                        std::optional<double> gain, double noise, std::vector<LayerPlan>* layers);
  absl::Status AddOneHot(std::vector<LayerPlan>* layers);
  // For rows that are vectors. One core for each member, as CorePlan's parameters have no members. The first one's
  // state begins at `state`.
  absl::StatusOr<std::vector<CorePlan>> AddCores(const std::string& name, const CoreSpec& core, int64_t state);
  void AddFlatten(std::vector<LayerPlan>* layers);

  // Adds a parameter that belongs to no layer, and returns its index.
  int64_t AddParameter(const std::string& name, std::vector<int64_t> shape);

 private:
  // INVALID_ARGUMENT if rows are still an observation's of more than one dimension.
  absl::Status CheckIsVector() const;
  absl::Status AddConv(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers);
  absl::Status AddResidual(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers);
  absl::Status AddEmbedding(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers);
  absl::Status AddLayerNorm(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers);
  absl::Status AddBatchNorm(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers);
  // Appends a float32 array, [members, …] if there are members, and returns its index.
  int64_t AddTo(std::vector<ArraySpec>* arrays, const std::string& name, std::vector<int64_t> shape) const;
  absl::Status AddParameters(const std::string& name, const std::vector<int64_t>& weight,
                             const std::vector<int64_t>& bias, LayerPlan* layer);

  std::optional<int64_t> members_;
  std::vector<ArraySpec>* parameters_;
  std::vector<ArraySpec>* statistics_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> num_values_;
  bool raw_ = true;  // The rows are still an observation's.
};

}  // namespace waggle
