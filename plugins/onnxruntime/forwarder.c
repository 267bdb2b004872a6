/* The library that ONNX Runtime loads in place of an execution provider's: its two functions are those that the plugin
 * has set. A file of its own, because a plugin exports only the symbol of Deputy's ABI. */
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

typedef void *(*create_factories)(const char *, const void *, const void *, void **, size_t, size_t *);
typedef void *(*release_factory)(void *);

static create_factories create;
static release_factory release;

EXPORTED void deputy_ort_forward(create_factories new_create, release_factory new_release) {
  create = new_create;
  release = new_release;
}

EXPORTED void *CreateEpFactories(const char *name, const void *base, const void *logger, void **factories, size_t most,
                                 size_t *count) {
  return create(name, base, logger, factories, most, count);
}

EXPORTED void *ReleaseEpFactory(void *factory) { return release(factory); }
