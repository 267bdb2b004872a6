/* Preloaded, it lets one allocation of the program fail: the one with the number FAILING_MALLOC, counted from main on.
 * With FAILING_MALLOC_EVERY that one and all after it. What is counted is written to the file FAILING_MALLOC_COUNT.
 * A program that is linked with it chooses by calls (failing_malloc.h). */
#define _GNU_SOURCE
#include "failing_malloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own, under the names that it keeps for those who take the place of malloc. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_int counting;
static atomic_long count, failing = -1;
static int every;

static int Fails(void) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed)) return 0;
  const long number = atomic_fetch_add(&count, 1);
  if (every ? number < failing : number != failing) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t bytes) { return Fails() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t number, size_t bytes) { return Fails() ? NULL : __libc_calloc(number, bytes); }
void *realloc(void *memory, size_t bytes) { return Fails() ? NULL : __libc_realloc(memory, bytes); }
void *memalign(size_t alignment, size_t bytes) { return Fails() ? NULL : __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return Fails() ? NULL : __libc_memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = Fails() ? NULL : __libc_memalign(alignment, bytes);
  return *memory == NULL ? ENOMEM : 0;
}

void fail_allocation(long number) {
  atomic_store(&failing, number);
  atomic_store(&count, 0);
}

long allocation_count(void) { return atomic_load(&count); }

static int (*main_of_program)(int, char **, char **);

static void WriteCount(void) {
  atomic_store(&counting, 0);
  const char *path = getenv("FAILING_MALLOC_COUNT");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", atomic_load(&count));
  fclose(file);
}

static int CountedMain(int argc, char **argv, char **environment) {
  const char *number = getenv("FAILING_MALLOC");
  if (number != NULL) atomic_store(&failing, atol(number));
  every = getenv("FAILING_MALLOC_EVERY") != NULL;
  atexit(WriteCount);
  atomic_store(&counting, 1);
  return main_of_program(argc, argv, environment);
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  main_of_program = program;
  return start(CountedMain, argc, argv, init, fini, rtld_fini, stack_end);
}
