/* A corridor as an environment process in C: an actor starts it with a socket and shared memory as
 * docs/environment_memory.md says. A lane begins in cell 0; action 1 goes on, action 0 goes back; cell 7 ends the
 * episode with a reward of 1, and 100 steps cut it off. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actor/environments/external/waggle_environment_memory.h"

enum { kCells = 8, kMaxSteps = 100, kMaxGroups = 8 };

static const char kSpec[] =
    "{\"observations\": [{\"name\": \"observation\", \"kind\": \"box\", \"dtype\": \"float32\", \"shape\": [8],"
    " \"low\": [0], \"high\": [1]}],"
    " \"actions\": [{\"name\": \"action\", \"kind\": \"discrete\", \"dtype\": \"int64\", \"shape\": [],"
    " \"num_values\": [2]}],"
    " \"rewards\": [{\"name\": \"reward\", \"shape\": []}], \"max_episode_steps\": 100, \"whole_groups\": %s}";

struct Group {
  uint32_t lanes;
  uint8_t* commands;
  int32_t* step_types;
  float* discounts;
  float* rewards;
  int64_t* actions;
  float* observations;
  int* cells;
  int* steps; /* The episode's steps; -1: it has ended. */
};

static void ReadAll(void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t now = read(WAGGLE_ENVIRONMENT_SOCKET, (char*)to + done, bytes - done);
    if (now <= 0) {
      exit(0); /* The actor has gone. */
    }
    done += (size_t)now;
  }
}

static void Send(uint8_t kind, uint8_t group, const char* json) {
  const struct waggle_message message = {kind, group, 0, (uint32_t)strlen(json)};
  if (write(WAGGLE_ENVIRONMENT_SOCKET, &message, sizeof(message)) < 0 ||
      write(WAGGLE_ENVIRONMENT_SOCKET, json, message.bytes) < 0) {
    exit(0);
  }
}

static void OpenMemory(struct Group* groups) {
  struct waggle_memory header;
  if (pread(WAGGLE_ENVIRONMENT_MEMORY, &header, sizeof(header), 0) != sizeof(header) || header.groups > kMaxGroups) {
    exit(1);
  }
  char* const base = mmap(NULL, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, WAGGLE_ENVIRONMENT_MEMORY, 0);
  const char* at = base + sizeof(header);
  for (uint32_t i = 0; i < header.groups; ++i) {
    struct waggle_group group;
    memcpy(&group, at, sizeof(group));
    const uint64_t* const offsets = (const uint64_t*)(at + sizeof(group));
    at += sizeof(group) + header.arrays * sizeof(uint64_t);
    groups[i].lanes = group.lanes;
    groups[i].commands = (uint8_t*)(base + offsets[0]);
    groups[i].step_types = (int32_t*)(base + offsets[2]);
    groups[i].discounts = (float*)(base + offsets[3]);
    groups[i].rewards = (float*)(base + offsets[4]);
    groups[i].actions = (int64_t*)(base + offsets[5]);
    groups[i].observations = (float*)(base + offsets[6]);
    groups[i].cells = calloc(group.lanes, sizeof(int));
    groups[i].steps = malloc(group.lanes * sizeof(int));
    memset(groups[i].steps, 0xff, group.lanes * sizeof(int));
  }
}

static void Run(struct Group* group) {
  for (uint32_t lane = 0; lane < group->lanes; ++lane) {
    if (group->commands[lane] == WAGGLE_LEAVE) {
      continue;
    }
    int* const cell = &group->cells[lane];
    group->rewards[lane] = 0;
    if (group->commands[lane] == WAGGLE_RESET || group->steps[lane] < 0) {
      *cell = 0;
      group->steps[lane] = 0;
      group->step_types[lane] = WAGGLE_FIRST;
      group->discounts[lane] = 0;
    } else {
      *cell += group->actions[lane] == 1 ? 1 : *cell > 0 ? -1 : 0;
      const int is_there = *cell == kCells - 1;
      const int is_over = ++group->steps[lane] == kMaxSteps;
      group->rewards[lane] = is_there ? 1 : 0;
      group->discounts[lane] = is_there ? 0 : 1; /* A truncated episode keeps a discount of 1. */
      group->step_types[lane] = is_there || is_over ? WAGGLE_LAST : WAGGLE_MID;
      group->steps[lane] = is_there || is_over ? -1 : group->steps[lane];
    }
    memset(group->observations + lane * kCells, 0, kCells * sizeof(float));
    group->observations[lane * kCells + (uint32_t)*cell] = 1;
  }
}

int main(void) {
  struct Group groups[kMaxGroups];
  static char json[1 << 16];
  while (1) {
    struct waggle_message message;
    ReadAll(&message, sizeof(message));
    ReadAll(json, message.bytes < sizeof(json) ? message.bytes : sizeof(json));
    if (message.kind == WAGGLE_OPEN) {
      char spec[1000];
      snprintf(spec, sizeof(spec), kSpec, strstr(json, "\"whole_groups\":true") != NULL ? "true" : "false");
      Send(WAGGLE_SPEC, 0, spec);
    } else if (message.kind == WAGGLE_MEMORY) {
      OpenMemory(groups);
      Send(WAGGLE_READY, 0, "");
    } else if (message.kind == WAGGLE_RUN) {
      Run(&groups[message.group]);
      Send(WAGGLE_DONE, message.group, "");
    }
  }
}
