/* A corridor as a plug-in. A lane begins in cell 0; action 1 goes on, action 0 goes back; the last cell ends the episode
 * with a reward of 1, and 100 steps cut it off. The option "cells" is its length. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waggle_environment.h"

enum { kMaxSteps = 100, kMostCells = 1000 };

struct Corridor {
  int cells;
  int cell;
  int steps;
};

static char error[200];
static char spec[600];

/* The options are {} or {"cells":N}: a plug-in with more of them reads its JSON by a library. */
static int CellsOf(const char* options) {
  const char* const found = strstr(options, "\"cells\":");
  const int cells = found == NULL ? 8 : atoi(found + strlen("\"cells\":"));
  if (cells < 2 || cells > kMostCells) {
    snprintf(error, sizeof(error), "cells: got %d; wanted 2 to %d", cells, kMostCells);
    return 0;
  }
  return cells;
}

static const char* Describe(const char* name, const char* options) {
  const int cells = CellsOf(options);
  if (strcmp(name, "Corridor") != 0) {
    snprintf(error, sizeof(error), "name: got %.100s; wanted Corridor", name);
    return NULL;
  }
  snprintf(spec, sizeof(spec),
           "{\"observations\": [{\"name\": \"observation\", \"kind\": \"box\", \"dtype\": \"float32\", \"shape\": [%d],"
           " \"low\": [0], \"high\": [1]}], \"actions\": [{\"name\": \"action\", \"kind\": \"discrete\","
           " \"dtype\": \"int64\", \"shape\": [], \"num_values\": [2]}],"
           " \"rewards\": [{\"name\": \"reward\", \"shape\": []}], \"max_episode_steps\": %d}",
           cells, kMaxSteps);
  return cells == 0 ? NULL : spec;
}

static void* Create(const char* name, const char* options, uint64_t seed) {
  struct Corridor* const corridor = calloc(1, sizeof(*corridor));
  (void)name;
  (void)seed; /* Nothing here is random. */
  corridor->cells = CellsOf(options);
  return corridor;
}

static void Show(const struct Corridor* corridor, void* const* observations) {
  float* const shown = observations[0];
  memset(shown, 0, (size_t)corridor->cells * sizeof(*shown));
  shown[corridor->cell] = 1;
}

static int Reset(void* lane, void* const* observations) {
  struct Corridor* const corridor = lane;
  corridor->cell = corridor->steps = 0;
  Show(corridor, observations);
  return 0;
}

static int Step(void* lane, const void* const* actions, void* const* observations, float* rewards, int32_t* end) {
  struct Corridor* const corridor = lane;
  const int64_t action = *(const int64_t*)actions[0];
  if (action < 0 || action > 1) {
    snprintf(error, sizeof(error), "action: got %lld; wanted 0 or 1", (long long)action);
    return 1;
  }
  corridor->cell += action == 1 ? 1 : corridor->cell > 0 ? -1 : 0;
  const int is_there = corridor->cell == corridor->cells - 1;
  rewards[0] = is_there ? 1 : 0;
  *end = is_there                             ? WAGGLE_EPISODE_TERMINATED
         : ++corridor->steps == kMaxSteps ? WAGGLE_EPISODE_TRUNCATED
                                              : WAGGLE_EPISODE_GOES_ON;
  Show(corridor, observations);
  return 0;
}

static void Destroy(void* lane) {
  free(lane);
}

static const char* LastError(void) {
  return error;
}

const struct waggle_environment_calls* waggle_environment_plugin(void) {
  static const struct waggle_environment_calls plugin = {
      WAGGLE_ENVIRONMENT_PLUGIN_VERSION, Describe, Create, Reset, Step, Destroy, LastError};
  return &plugin;
}
