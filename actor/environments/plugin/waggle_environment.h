/* An environment as a shared library in C, which an actor of Waggle loads: environment.plugin in docs/experiments.md.
 * The library exports one function, waggle_environment_plugin. */
#ifndef WAGGLE_ENVIRONMENT_H_
#define WAGGLE_ENVIRONMENT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAGGLE_ENVIRONMENT_PLUGIN_VERSION 1

/* The state after a step. */
enum {
  WAGGLE_EPISODE_GOES_ON = 0,
  WAGGLE_EPISODE_TERMINATED = 1, /* A terminal state, whose value is zero. */
  WAGGLE_EPISODE_TRUNCATED = 2   /* Cut off, by a time limit for example. */
};

/* A lane is one copy of the environment. An actor calls all of this from one thread, unless environment.threads is
 * more than 1: then several lanes may be stepped at once, each by one thread at a time. */
struct waggle_environment_calls {
  uint32_t version; /* WAGGLE_ENVIRONMENT_PLUGIN_VERSION */

  /* The environment's spec, in JSON: see "The spec" in docs/environment_memory.md. `options` is the experiment's
   * environment.plugin.options, a JSON object. The text stays valid until the next call. NULL: there is no such
   * environment; see last_error. */
  const char* (*describe)(const char* name, const char* options);

  /* Makes a lane. All its random numbers follow from the seed. NULL on an error: see last_error. */
  void* (*create)(const char* name, const char* options, uint64_t seed);

  /* Starts an episode and writes its first observations: one array for each observation of the spec, in its order.
   * 0, or another number if it failed. */
  int (*reset)(void* lane, void* const* observations);

  /* Takes an action, one array for each action of the spec, and writes the observations and all elements of all
   * rewards, back to back. `end` is set to one of the three above. 0, or another number if it failed. After an end the
   * next call is a reset. */
  int (*step)(void* lane, const void* const* actions, void* const* observations, float* rewards, int32_t* end);

  void (*destroy)(void* lane);

  /* The cause of this thread's last failure. The text stays valid until its next call. */
  const char* (*last_error)(void);
};

/* The library's only exported function. Its result stays valid as long as the library is loaded. */
const struct waggle_environment_calls* waggle_environment_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
