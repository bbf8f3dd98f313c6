/* The memory and messages that an actor and an environment process share, in C: docs/environment_memory.md explains
 * them. All numbers are little-endian. */
#ifndef WAGGLE_ENVIRONMENT_MEMORY_H_
#define WAGGLE_ENVIRONMENT_MEMORY_H_

#include <stdint.h>

#define WAGGLE_ENVIRONMENT_VERSION 1

/* The descriptors that the process has from its start. */
#define WAGGLE_ENVIRONMENT_SOCKET 3
#define WAGGLE_ENVIRONMENT_MEMORY 4

/* Precedes each message on the socket. */
struct waggle_message {
  uint8_t kind;
  uint8_t group;
  uint16_t unused;
  uint32_t bytes; /* Bytes of JSON that follow. */
};

/* Kinds of messages, the actor's first. */
enum {
  WAGGLE_OPEN = 1,   /* JSON: {"version", "scheme", "options", "lanes": [for each group]}. */
  WAGGLE_MEMORY = 2, /* The memory is arranged, as its header describes. */
  WAGGLE_RUN = 3,    /* A group must run its lanes' commands. */
  WAGGLE_SPEC = 65,  /* JSON, the answer to OPEN. */
  WAGGLE_READY = 66, /* The answer to MEMORY. */
  WAGGLE_DONE = 67,  /* The answer to RUN, with the same group. */
  WAGGLE_ERROR = 68  /* JSON: {"message", "traceback", "final"}; the process ends after it. */
};

/* At the beginning of the memory. */
struct waggle_memory {
  char magic[8]; /* "WAGGLEEN". */
  uint32_t version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t groups;
  uint32_t arrays; /* In each group. */
};

/* After the header, for each group: this, and the offset of each of its arrays from the memory's beginning, uint64_t.
 * The arrays, each [lanes, …], are: commands (uint8_t), seeds (uint64_t), step types (int32_t), discounts (float), then
 * each reward (float), each action and each observation, in the order of the spec. */
struct waggle_group {
  uint32_t lanes;
  uint32_t first_lane;
};

enum { WAGGLE_LEAVE = 0, WAGGLE_STEP = 1, WAGGLE_RESET = 2 };
enum { WAGGLE_FIRST = 0, WAGGLE_MID = 1, WAGGLE_LAST = 2 };

#endif
