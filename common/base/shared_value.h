#pragma once

#include <memory>
#include <utility>

namespace waggle {

// A value that its copies share until one of them is changed: copying is cheap however large the value is. Threads may
// read the same value through copies of their own.
template <class T>
class SharedValue {
 public:
  SharedValue() : SharedValue(T()) {}
  SharedValue(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT: a value is as good as this.

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // For a change that no other copy sees. The pointer is valid until this is copied.
  T* Change() {
    if (value_.use_count() > 1) {
      value_ = std::make_shared<T>(*value_);
    }
    return value_.get();
  }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace waggle
