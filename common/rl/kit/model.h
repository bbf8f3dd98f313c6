#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/schedule.h"
#include "common/hub/ports/model.h"
#include "common/nn/parameter_group.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/nn/weights_codec.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// A learned number, for example the logarithm of a temperature.
class Scalar {
 public:
  Scalar(std::unique_ptr<FlatParameters> parameters, std::unique_ptr<ParameterGroup> group)
      : parameters_(std::move(parameters)), group_(std::move(group)) {}

  // Without dimensions; differentiable.
  const torch::Tensor& value() const { return parameters_->leaves()[0]; }
  ParameterGroup* group() const { return group_.get(); }
  FlatParameters& parameters() const { return *parameters_; }

 private:
  const std::unique_ptr<FlatParameters> parameters_;
  const std::unique_ptr<ParameterGroup> group_;
};

// The networks, targets, optimizers and scalars of a plan, which decides what is saved and published. Not thread-safe.
class Model {
 public:
  // Each network's initial values follow from `seed` and its name. INVALID_ARGUMENT for wrong optimizer options; other
  // errors are Network::Create's.
  static absl::StatusOr<std::unique_ptr<Model>> Create(const ExperimentPlan& plan, const EnvironmentSpec& environment,
                                                       torch::Device device, uint64_t seed,
                                                       torch::ScalarType dtype = torch::kFloat32);

  // The plan must have it.
  Net& net(const std::string& name) const;
  Scalar* scalar(const std::string& name) const;
  // The network that has a head of this name; null if none has.
  Net* FindNetWith(const std::string& head) const;

  // All that optimizers step, in an order that follows from the plan.
  std::vector<ParameterGroup*> groups() const;

  // Takes the optimizers' learning rates and clipping from a plan with the same networks and scalars.
  void SetRates(const AlgorithmPlan& plan);
  // The present learning rate of each network and scalar that learns, by its name.
  std::map<std::string, double> LearningRates(const Progress& progress) const;

  const EnvironmentSpec& environment() const { return environment_; }
  torch::Device device() const { return device_; }

  // Copies the values of acting networks and scalars to the CPU. The caller sets `model` and `version`.
  absl::StatusOr<ModelSnapshot> Publish() const;
  // Loads values into the acting networks, their targets and acting scalars. FAILED_PRECONDITION if they are another
  // network's, INVALID_ARGUMENT if some are not finite; nothing is changed then.
  absl::Status LoadPublished(const ModelSnapshot& snapshot);

  // Draws new noise for the weights of all noisy layers, of targets too.
  void DrawNoise(Noise* noise);

  void VisitState(StateVisitor* visitor);

 private:
  std::vector<NamedParameters> ActingParts() const;

  Model(EnvironmentSpec environment, torch::Device device) : environment_(std::move(environment)), device_(device) {}

  const EnvironmentSpec environment_;
  const torch::Device device_;
  std::map<std::string, std::unique_ptr<Net>> nets_;
  std::map<std::string, std::unique_ptr<Scalar>> scalars_;
  std::map<std::string, std::string> optimizers_;  // Identities, by network or scalar.
  std::vector<Net*> acting_;                       // In the plan's order.
  std::vector<NamedParameters> acting_scalars_;    // Likewise.
  uint64_t acting_hash_ = 0;
};

}  // namespace waggle
