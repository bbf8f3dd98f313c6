#pragma once

#include "learner/group/c10d.h"

#if WAGGLE_WITH_GLOO

#include <string>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/hub/ports/key_store.h"

namespace waggle {

// A KeyStore with c10d's interface. Waits until `stop` and has no timeouts: the owner of `stop` knows when waiting is
// useless. Throws std::runtime_error if the KeyStore returns an error.
class C10dStore final : public c10d::Store {
 public:
  // The store must outlive this object.
  C10dStore(KeyStore* store, const StopToken& stop) : store_(store), stop_(stop) {}

  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  // Not used; throws.
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;

 private:
  KeyStore* const store_;
  const StopToken stop_;
};

}  // namespace waggle

#endif
