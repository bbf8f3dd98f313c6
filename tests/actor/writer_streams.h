#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "actor/writing/trajectory_writer.h"
#include "common/base/random.h"

// Random streams for a trajectory writer, and the blocks that it must make of them.

namespace waggle::testing {

// A row in a simple form.
struct Row {
  float observation[3] = {};
  int64_t action = 0;
  float reward = 0;
  float discount = 0;
  int32_t step_type = 0;
  float trace[2] = {};
  float extras[2] = {};
};

// By lane.
using Streams = std::vector<std::vector<Row>>;

// Random episodes in each of a number of lanes, all with equally many rows.
Streams RandomStreams(int64_t lanes, int64_t rows, int64_t max_episode_rows, Rng* rng);

// A row of every lane, as arrays for the writer.
struct LaneArrays {
  LaneArrays(const Streams& streams, const std::vector<size_t>& by_lane) {
    for (size_t lane = 0; lane < streams.size(); ++lane) {
      const Row& row = streams[lane].at(by_lane[lane]);
      observations.insert(observations.end(), row.observation, row.observation + 3);
      actions.push_back(row.action);
      rewards.push_back(row.reward);
      discounts.push_back(row.discount);
      step_types.push_back(row.step_type);
      trace.insert(trace.end(), row.trace, row.trace + 2);
      extras.insert(extras.end(), row.extras, row.extras + 2);
    }
    columns = {trace.data()};
    observation_arrays = {observations.data()};
    action_arrays = {actions.data()};
    reward_arrays = {rewards.data()};
    rows.observations = observation_arrays;
    rows.actions = action_arrays;
    rows.rewards = reward_arrays;
    rows.discounts = discounts.data();
    rows.step_types = step_types.data();
    rows.policy_columns = columns;
    rows.private_values = extras.data();
  }
  LaneArrays(const LaneArrays&) = delete;

  std::vector<float> observations, rewards, discounts, trace, extras;
  std::vector<int64_t> actions;
  std::vector<int32_t> step_types;
  std::vector<void*> columns;
  std::vector<const void*> observation_arrays, action_arrays;
  std::vector<const float*> reward_arrays;
  LaneRows rows;
};

// Row t of every lane.
absl::Status AppendRow(TrajectoryWriter* writer, const Streams& streams, size_t t);

double NStepPriority(const WindowRow* rows, int64_t count);
double SequencePriority(const WindowRow* rows, int64_t count);

// The columns of a Row.
const std::vector<ArraySpec>& FullSignature();

TablePlan PlanOf(const std::string& name, WindowPlan::Kind kind, int64_t length, int64_t period,
                 InitialPriority priority);
TrajectoryWriterOptions OptionsOf(int64_t lanes, int64_t chunk_rows, std::vector<TablePlan> plans);

// (table, stream, first row, rows) -> priority.
using Items = std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, double>;

// All items of all streams, by the plans' definitions.
Items ItemsByDefinition(const std::vector<TablePlan>& plans, const Streams& streams);
// The items of the blocks. No item may come twice.
Items ItemsOf(const std::vector<InsertBlock>& blocks);

// Checks that `size` bytes are next, and moves past them.
void Expect(const char** bytes, const void* expected, size_t size);

// Checks the layout and contents of all blocks, and returns their number of rows of each lane. Chunks begin with
// episodes unless windows cross episodes.
uint64_t CheckRows(const std::vector<InsertBlock>& blocks, const Streams& streams, bool crosses_episodes = false);

}  // namespace waggle::testing
