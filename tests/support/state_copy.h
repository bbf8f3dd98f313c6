#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/nn/state_visitor.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Copies a component's state to another's, like a checkpoint. The test fails if the copy lacks a part of the other's
// state, or if a problem is reported.
class StateCopy {
 public:
  StateVisitor* Saver() { return &saver_; }
  StateVisitor* Loader() { return &loader_; }

 private:
  class Visitor : public StateVisitor {
   public:
    Visitor(StateCopy* copy, bool loading) : copy_(copy), loading_(loading) {}
    bool Loading() const override { return loading_; }

   protected:
    void VisitTensor(const std::string& path, torch::Tensor* value) override {
      if (!loading_) {
        copy_->tensors_[path] = value->clone();
        return;
      }
      REQUIRE(copy_->tensors_.count(path) == 1);
      value->copy_(copy_->tensors_.at(path));
    }
    void VisitAnyTensor(const std::string& path, torch::Tensor* value, torch::Device device) override {
      if (!loading_) {
        copy_->tensors_[path] = value->defined() ? value->clone() : torch::Tensor();
        return;
      }
      REQUIRE(copy_->tensors_.count(path) == 1);
      const torch::Tensor& saved = copy_->tensors_.at(path);
      *value = saved.defined() ? saved.to(device, saved.scalar_type(), /*non_blocking=*/false, /*copy=*/true) : saved;
    }
    void VisitInt(const std::string& path, int64_t* value) override { Value(path, value, &copy_->ints_); }
    void VisitDouble(const std::string& path, double* value) override { Value(path, value, &copy_->doubles_); }
    void VisitString(const std::string& path, std::string* value) override { Value(path, value, &copy_->strings_); }
    void VisitIdentity(const std::string& path, const std::string& text) override {
      std::string copied = text;
      Value(path, &copied, &copy_->strings_);
      REQUIRE(copied == text);
    }
    void Problem(std::string problem) override { FAIL(problem); }

   private:
    template <class T>
    void Value(const std::string& path, T* value, std::map<std::string, T>* values) const {
      if (!loading_) {
        (*values)[path] = *value;
        return;
      }
      REQUIRE(values->count(path) == 1);
      *value = values->at(path);
    }

    StateCopy* const copy_;
    const bool loading_;
  };

  std::map<std::string, torch::Tensor> tensors_;
  std::map<std::string, int64_t> ints_;
  std::map<std::string, double> doubles_;
  std::map<std::string, std::string> strings_;
  Visitor saver_{this, false};
  Visitor loader_{this, true};
};

}  // namespace waggle::testing
