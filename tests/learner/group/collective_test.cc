#include "learner/group/collective.h"

#include <utility>

#include "common/base/status_macros.h"
#include "tests/learner/group/members.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ActTogether;

TEST_CASE("tensors become their mean in each member, and all members get the root's bytes and all values", "[grpc]") {
  std::vector<torch::Tensor> tensors = {torch::tensor({1.0F, 2.0F}), torch::tensor({4.0F, 6.0F}),
                                        torch::tensor({1.0F, 1.0F})};
  std::vector<int64_t> numbers = {10, 11, 12};
  std::vector<std::vector<int64_t>> gathered(3);
  const auto results = ActTogether(3, [&](int rank, Collective* collective) -> absl::Status {
    const auto at = static_cast<size_t>(rank);
    WAGGLE_RETURN_IF_ERROR(collective->Average(tensors[at]));
    WAGGLE_ASSIGN_OR_RETURN(gathered[at], collective->Gather(100 * rank));
    return collective->Broadcast(&numbers[at], sizeof(int64_t), /*root=*/1);
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE_OK(results[rank]);
    CHECK(torch::equal(tensors[rank], tensors[0]));
    CHECK(torch::allclose(tensors[rank], torch::tensor({2.0F, 3.0F})));
    CHECK(numbers[rank] == 11);
    CHECK(gathered[rank] == std::vector<int64_t>{0, 100, 200});
  }
}

TEST_CASE("a part of a tensor that is not contiguous is averaged too", "[grpc]") {
  std::vector<torch::Tensor> tensors = {torch::zeros({3, 2}), torch::ones({3, 2})};
  const auto results = ActTogether(2, [&](int rank, Collective* collective) {
    return collective->Average(tensors[static_cast<size_t>(rank)].select(1, 0));
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    REQUIRE_OK(results[rank]);
    CHECK(torch::equal(tensors[rank].select(1, 0), torch::full({3}, 0.5)));
    CHECK(torch::equal(tensors[rank].select(1, 1), torch::full({3}, static_cast<float>(rank))));
  }
}

TEST_CASE("members send each other tensors in order, and one that waits for a tensor stops once the group is abandoned",
          "[grpc]") {
  const StopToken abandoned;
  torch::Tensor first = torch::zeros({2});
  torch::Tensor second = torch::zeros({1}, torch::kInt64);
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        if (rank == 1) {
          WAGGLE_RETURN_IF_ERROR(collective->Send(torch::tensor({1.0F, 2.0F}), 0));
          WAGGLE_RETURN_IF_ERROR(collective->Send(torch::tensor({int64_t{3}}), 0));
          return collective->Receive(torch::zeros({1}), 0);
        }
        WAGGLE_RETURN_IF_ERROR(collective->Receive(first, 1));
        WAGGLE_RETURN_IF_ERROR(collective->Receive(second, 1));
        abandoned.RequestStop();
        return collective->Send(first, 1);
      },
      abandoned);
  CHECK(torch::equal(first, torch::tensor({1.0F, 2.0F})));
  CHECK(second.item<int64_t>() == 3);
  CHECK(results[0].code() == absl::StatusCode::kAborted);
  CHECK(results[1].code() == absl::StatusCode::kAborted);
}

TEST_CASE("a member that waits for a lost one gets an error, and a member that abandons the group does not wait",
          "[grpc]") {
  const bool leaves = GENERATE(true, false);
  INFO(leaves);
  const StopToken abandoned;
  std::vector<torch::Tensor> tensors = {torch::zeros({1000}), torch::ones({1000})};
  const StopToken first_ended;
  const auto results = ActTogether(
      2,
      [&](int rank, Collective* collective) -> absl::Status {
        WAGGLE_RETURN_IF_ERROR(collective->Average(tensors[static_cast<size_t>(rank)]));
        if (rank == 1) {  // It takes no part in the next step: it leaves, or hangs until the first one has given up.
          abandoned.WaitFor(leaves ? absl::ZeroDuration() : absl::Milliseconds(50));
          if (!leaves) {
            abandoned.RequestStop();
            first_ended.Wait();
          }
          return absl::OkStatus();
        }
        const absl::Status status = collective->Average(tensors[0]);
        first_ended.RequestStop();
        return status;
      },
      abandoned);
  CHECK(results[0].code() == absl::StatusCode::kAborted);
  REQUIRE_OK(results[1]);
}

TEST_CASE("a member that waits for others stops once the group is abandoned, or is formed anew", "[grpc]") {
  const bool abandons = GENERATE(true, false);
  testing::GroupStoreServer server;
  const std::unique_ptr<KeyStore> store = server.Client();
  const StopToken abandoned;
  absl::Status result;
  Thread waits("waits", [&] { result = Collective::Connect({0, 2, "127.0.0.1"}, store.get(), abandoned).status(); });
  REQUIRE_OK(store->Get({"here/0"}, /*wait=*/true, StopToken()));
  if (abandons) {
    abandoned.RequestStop();
  } else {
    server.store.Begin(server.epoch + 1);
  }
  waits.Join();
  CHECK(result.code() == absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace waggle
