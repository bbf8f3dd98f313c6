#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/random.h"
#include "common/nn/torch.h"

namespace waggle {

// Visits all state that must survive a process. A component's VisitState(visitor) serves both saving and loading.
// Problems do not stop it; the caller asks for them afterwards. Names must be unique within a scope.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;

  // Loading copies into the present tensor, which keeps its shape, type and device.
  void Tensor(absl::string_view name, torch::Tensor* value) { VisitTensor(Path(name), value); }
  // A tensor whose shape and type follow from what was learned, such as experience that is kept; it may be undefined.
  // Loading replaces it by the saved one, on `device`.
  void AnyTensor(absl::string_view name, torch::Tensor* value, torch::Device device) {
    VisitAnyTensor(Path(name), value, device);
  }
  void Int(absl::string_view name, int64_t* value) { VisitInt(Path(name), value); }
  void Double(absl::string_view name, double* value) { VisitDouble(Path(name), value); }
  void String(absl::string_view name, std::string* value) { VisitString(Path(name), value); }

  // The meaning of the state around it. Loading state with another text is a problem.
  void Identity(absl::string_view name, const std::string& text) { VisitIdentity(Path(name), text); }

  void Generator(absl::string_view name, Rng* generator) {
    std::string state = generator->Save();
    VisitString(Path(name), &state);
    if (Loading()) {
      if (const absl::Status status = generator->Restore(state); !status.ok()) {
        Problem(absl::StrCat(Path(name), ": ", status.message()));
      }
    }
  }

  // Runs `visit` with "name/" before its names.
  template <class Function>
  void Scope(absl::string_view name, Function&& visit) {
    const std::string outer = prefix_;
    prefix_ = absl::StrCat(prefix_, name, "/");
    visit();
    prefix_ = outer;
  }

  // True if values are set, false if they are read.
  virtual bool Loading() const = 0;

 protected:
  virtual void VisitTensor(const std::string& path, torch::Tensor* value) = 0;
  virtual void VisitAnyTensor(const std::string& path, torch::Tensor* value, torch::Device device) = 0;
  virtual void VisitInt(const std::string& path, int64_t* value) = 0;
  virtual void VisitDouble(const std::string& path, double* value) = 0;
  virtual void VisitString(const std::string& path, std::string* value) = 0;
  virtual void VisitIdentity(const std::string& path, const std::string& text) = 0;
  virtual void Problem(std::string problem) = 0;

 private:
  std::string Path(absl::string_view name) const { return absl::StrCat(prefix_, name); }

  std::string prefix_;
};

}  // namespace waggle
