/* Ground rules of the plugin ABI: versions, growth, strings. Plain C99, freestanding; every other header includes it.
 *
 * Growth: every struct begins with `uint32_t struct_size`, set by the side that fills the struct. Fields are appended,
 * never removed, reordered or retyped. A reader touches a field only after DEPUTY_HAS(). Structs without a struct_size
 * (deputy_str, deputy_kv, ...) are frozen and may be stored in arrays by value; growing ones are passed by pointer
 * only. */
#ifndef DEPUTY_ABI_BASE_H
#define DEPUTY_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

/* 0.x: breaking changes are allowed, each with a line in CHANGELOG.md and a new minor number that refuses old plugins.
 * From 1.0 on the major number is the one in the name of the entry symbol and minor numbers only add. */
#define DEPUTY_ABI_MAJOR 0u
#define DEPUTY_ABI_MINOR 1u
#define DEPUTY_ABI_VERSION ((DEPUTY_ABI_MAJOR << 16) | DEPUTY_ABI_MINOR)

/* The oldest host that a plugin built with these headers supports: from 1.0 on the first of the major number, since a
 * plugin tests for appended fields before it uses them; for 0.x its own number alone. A vendor whose plugin needs
 * additions of a later minor number defines it for the whole plugin: -DDEPUTY_ABI_MIN_HOST=0x10003u is 1.3. */
#ifndef DEPUTY_ABI_MIN_HOST
#define DEPUTY_ABI_MIN_HOST (DEPUTY_ABI_MAJOR > 0u ? DEPUTY_ABI_MAJOR << 16 : DEPUTY_ABI_VERSION)
#endif

#if defined(__cplusplus)
#define DEPUTY_EXTERN_C extern "C"
#define DEPUTY_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define DEPUTY_EXTERN_C extern
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define DEPUTY_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#else
#define DEPUTY_ASSERT_CAT_(a, b) a##b
#define DEPUTY_ASSERT_CAT(a, b) DEPUTY_ASSERT_CAT_(a, b)
#define DEPUTY_STATIC_ASSERT(condition, message) \
  extern int DEPUTY_ASSERT_CAT(deputy_assert_, __LINE__)[(condition) ? 1 : -1]
#endif
#endif

#if defined(__GNUC__)
#define DEPUTY_EXPORT __attribute__((visibility("default")))
#else
#define DEPUTY_EXPORT
#endif

/* True if the struct behind `p`, of type `T`, has field `f`. */
#define DEPUTY_END_OF(T, f) (offsetof(T, f) + sizeof(((T *)0)->f))
#define DEPUTY_HAS(p, T, f) ((size_t)(p)->struct_size >= DEPUTY_END_OF(T, f))
#define DEPUTY_HAS_FN(p, T, f) (DEPUTY_HAS(p, T, f) && (p)->f != NULL)

/* Frozen. UTF-8; data[size] == 0. An empty string may have data == NULL. */
typedef struct deputy_str {
  const char *data;
  uint64_t size;
} deputy_str;

/* Frozen. */
typedef struct deputy_kv {
  deputy_str key;
  deputy_str value;
} deputy_kv;

/* Codes; a `deputy_code` is never declared with an enum type. */
typedef int32_t deputy_code;
enum {
  DEPUTY_OK = 0,
  DEPUTY_CANCELLED = 1,
  DEPUTY_UNKNOWN = 2,
  DEPUTY_INVALID_ARGUMENT = 3,
  DEPUTY_DEADLINE_EXCEEDED = 4,
  DEPUTY_NOT_FOUND = 5,
  DEPUTY_OUT_OF_MEMORY = 8,
  DEPUTY_FAILED_PRECONDITION = 9,
  DEPUTY_ABORTED = 10,
  DEPUTY_NOT_SUPPORTED = 12,
  DEPUTY_INTERNAL = 13,
  DEPUTY_UNAVAILABLE = 14,
  DEPUTY_DEVICE_LOST = 15,
  DEPUTY_INCOMPATIBLE = 16
};

/* A failure. Made with deputy_host.status_new and freed by the host; NULL is success. A plugin that gets one from a
 * function of the host returns it as the result of its current call. */
typedef struct deputy_status deputy_status;

/* Thread and state tags. Every function's comment ends with one thread tag; functions in a row share the comment above
 * the first of them.
 *
 * [any-thread]           may be called from any thread, also at the same time on the same object
 * [load-time]            called by one thread at a time per object, never while an execute of the object runs
 * [one-call-per-context] any thread, but one call at a time per execution context; different contexts run in parallel
 *                        unless the delegate says DEPUTY_DELEGATE_SERIAL
 * [in-call]              only inside the call that was given the object, one call at a time
 * [any-state]            beside a thread tag: allowed at every point of an object's life; without it, only between
 *                        creation and destruction
 *
 * Order of life, kept by the host: query, init, probe, open, support query, propose, compile or restore, context
 * create, resize* and execute* in turns, context destroy, executable destroy, close, shutdown; serialize* at any time
 * of an executable's life. A call that failed to create an object is never followed by a destroy of it. */

#endif /* DEPUTY_ABI_BASE_H */
