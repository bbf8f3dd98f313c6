#include "actor/environments/external/environment_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/external/waggle_environment_memory.h"
#include "actor/environments/leaf_elements.h"
#include "common/base/tensor/dtype.h"

namespace waggle {
namespace {

constexpr char kMagic[8] = {'W', 'A', 'G', 'G', 'L', 'E', 'E', 'N'};
constexpr size_t kAlignment = 64;
constexpr size_t kMostBytes = size_t{4} << 30;
static_assert(sizeof(waggle_memory) == 32 && sizeof(waggle_group) == 8, "docs/environment_memory.md says so");

size_t Aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Bytes of a lane's row in each array of a group, in the order of docs/environment_memory.md.
std::vector<size_t> RowBytes(const EnvironmentSpec& spec) {
  std::vector<size_t> rows = {sizeof(LaneCommand), sizeof(uint64_t), sizeof(int32_t), sizeof(float)};
  for (const ArraySpec& reward : spec.rewards) {
    rows.push_back(static_cast<size_t>(reward.NumBytes()));
  }
  for (const auto* leaves : {&spec.actions, &spec.observations}) {
    for (const SpaceLeaf& leaf : *leaves) {
      rows.push_back(static_cast<size_t>(leaf.array.NumBytes()));
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<EnvironmentMemory> EnvironmentMemory::Create() {
  const int descriptor = memfd_create("waggle-environment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, "memory to share with an environment");
  }
  return EnvironmentMemory(descriptor);
}

EnvironmentMemory::EnvironmentMemory(EnvironmentMemory&& other) noexcept {
  *this = std::move(other);
}

EnvironmentMemory& EnvironmentMemory::operator=(EnvironmentMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(groups_, other.groups_);
  return *this;
}

EnvironmentMemory::~EnvironmentMemory() {
  if (data_ != nullptr) {
    munmap(data_, bytes_);
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

absl::Status EnvironmentMemory::Arrange(const EnvironmentSpec& spec, const std::vector<int64_t>& group_lanes,
                                        int64_t first_lane) {
  const std::vector<size_t> rows = RowBytes(spec);
  const size_t header_bytes =
      sizeof(waggle_memory) + group_lanes.size() * (sizeof(waggle_group) + rows.size() * sizeof(uint64_t));
  std::vector<std::vector<uint64_t>> offsets;
  size_t end = Aligned(header_bytes);
  for (const int64_t lanes : group_lanes) {
    std::vector<uint64_t>& of_group = offsets.emplace_back();
    for (const size_t row : rows) {
      of_group.push_back(end);
      end += Aligned(row * static_cast<size_t>(lanes));
    }
  }
  if (end > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("memory to share with an environment: got ", end,
                                                     " bytes for the lanes of a process; wanted at most ", kMostBytes));
  }
  // Allocated now, so that a lack of memory is an error here and does not kill a process later.
  if (const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(end)); error != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory to share with an environment: got ", strerror(error), " for ", end, " bytes"));
  }
  // If the environment process could shrink it, reads here would crash this process.
  if (fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return absl::ErrnoToStatus(errno, "sealing the memory that is shared with an environment");
  }
  bytes_ = end;
  data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    return absl::ErrnoToStatus(errno, "memory to share with an environment");
  }

  auto* const base = static_cast<char*>(data_);
  waggle_memory header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = WAGGLE_ENVIRONMENT_VERSION;
  header.header_bytes = static_cast<uint32_t>(header_bytes);
  header.bytes = end;
  header.groups = static_cast<uint32_t>(group_lanes.size());
  header.arrays = static_cast<uint32_t>(rows.size());
  std::memcpy(base, &header, sizeof(header));
  char* at = base + sizeof(header);
  for (size_t i = 0; i < group_lanes.size(); ++i) {
    const waggle_group group_header = {static_cast<uint32_t>(group_lanes[i]), static_cast<uint32_t>(first_lane)};
    std::memcpy(at, &group_header, sizeof(group_header));
    at += sizeof(group_header);
    std::memcpy(at, offsets[i].data(), offsets[i].size() * sizeof(uint64_t));
    at += offsets[i].size() * sizeof(uint64_t);

    LaneGroup& group = groups_.emplace_back();
    group.first_lane = first_lane;
    group.lanes = group_lanes[i];
    first_lane += group.lanes;
    size_t next = 0;
    const auto array = [&] { return base + offsets[i][next++]; };
    group.commands = reinterpret_cast<LaneCommand*>(array());
    group.seeds = reinterpret_cast<uint64_t*>(array());
    group.step_types = reinterpret_cast<int32_t*>(array());
    group.discounts = reinterpret_cast<float*>(array());
    for (size_t leaf = 0; leaf < spec.rewards.size(); ++leaf) {
      group.rewards.push_back(reinterpret_cast<float*>(array()));
    }
    for (size_t leaf = 0; leaf < spec.actions.size(); ++leaf) {
      group.actions.push_back(array());
    }
    for (size_t leaf = 0; leaf < spec.observations.size(); ++leaf) {
      group.observations.push_back(array());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRow(const EnvironmentSpec& spec, const LaneGroup& group, size_t row, bool begins) {
  const auto type = static_cast<StepType>(group.step_types[row]);
  if (begins ? type != StepType::kFirst : type != StepType::kMid && type != StepType::kLast) {
    return absl::InternalError(
        absl::StrCat("step_type: got ", group.step_types[row], "; wanted ", begins ? "0" : "1 or 2"));
  }
  if (const float discount = group.discounts[row]; discount != 0 && discount != 1) {
    return absl::InternalError(absl::StrCat("discount: got ", discount, "; wanted 0 or 1"));
  }
  for (size_t leaf = 0; leaf < group.rewards.size(); ++leaf) {
    const int64_t elements = spec.rewards[leaf].NumElements();
    const float* const rewards = group.rewards[leaf] + row * static_cast<size_t>(elements);
    if (const int64_t bad = FindNonFinite(DType::kFloat32, rewards, elements); bad >= 0) {
      return absl::InternalError(
          absl::StrCat(spec.rewards[leaf].name, ": got ", rewards[bad], "; wanted a finite number"));
    }
  }
  for (size_t leaf = 0; leaf < group.observations.size(); ++leaf) {
    const auto bytes = static_cast<size_t>(spec.observations[leaf].array.NumBytes());
    const absl::Status right = CheckObservation(spec.observations[leaf], group.observations[leaf] + row * bytes);
    if (!right.ok()) {
      return absl::InternalError(right.message());
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
