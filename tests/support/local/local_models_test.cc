#include "tests/support/local/local_models.h"

#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"

namespace waggle {
namespace {

TEST_CASE("The model ports in process conform to the ports", "[unit]") {
  std::unique_ptr<ModelStore> store;
  testing::CheckModelConformance([&store] {
    store = std::make_unique<ModelStore>(ModelStoreOptions());
    return testing::ModelPorts{
        [&store] { return NewLocalModelPublisher(store.get()); },
        [&store](const std::string& model) { return NewLocalModelSubscriber(store.get(), model); }};
  });
}

TEST_CASE("Pulling in process copies no weights", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  const ModelSnapshot published = testing::MakeModel("m", {1, 1});
  REQUIRE_OK(NewLocalModelPublisher(&store)->Publish(published, StopToken()));
  const auto pulled = testing::ValueOf(NewLocalModelSubscriber(&store, "m")->PullNewer(std::nullopt, StopToken()));
  CHECK(pulled->data.slices().front().data == published.data.slices().front().data);
}

}  // namespace
}  // namespace waggle
