/* Ground rules of the plugin ABI: versions, growth, strings. Plain C99, freestanding; every other header includes it.
 *
 * Growth: every struct begins with `uint32_t struct_size`, set by the side that fills the struct. Fields are appended,
 * never removed, reordered or retyped. A reader touches a field only after DEPUTY_HAS(). Structs without a struct_size
 * (deputy_str, deputy_kv, ...) are frozen and may be stored in arrays by value; growing ones are passed by pointer
 * only.
 *
 * Appended fields may be ignored, flags may not. A reader that does not know an appended field gets right results
 * without it. What must not be ignored comes with a bit of `flags`: a reader refuses a struct with a bit that its
 * headers do not define. A plugin returns INVALID_ARGUMENT; the host rejects the plugin, or does not use the extension
 * whose table it is. So the sender sets a bit only for a reader whose headers define it: the host knows
 * deputy_plugin.abi_version, a plugin has the host's version from its query function and in deputy_host.abi_version.
 *
 * A value of an enumeration that a reader does not know is no error, and reads as "something else": a code as
 * DEPUTY_INTERNAL, a reason as DEPUTY_REASON_OTHER, an element type as one that is not supported. Codes and reasons
 * from DEPUTY_VENDOR_FIRST on are the vendors': they never get a meaning here, and reports show their number.
 *
 * Slots of tables: a function whose comment ends with [optional] may be NULL, and the comment says what that means.
 * Every other function is there. */
#ifndef DEPUTY_ABI_BASE_H
#define DEPUTY_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

/* 0.x: breaking changes are allowed, each with a line in CHANGELOG.md and a new minor number that refuses old plugins.
 * From 1.0 on the major number is the one in the name of the entry symbol and minor numbers only add. */
#define DEPUTY_ABI_MAJOR 0u
#define DEPUTY_ABI_MINOR 2u
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
  DEPUTY_OK = 0,                  /* success; a status never has it */
  DEPUTY_CANCELLED = 1,           /* the host asked the call to end, and it ended */
  DEPUTY_UNKNOWN = 2,             /* the cause is not known */
  DEPUTY_INVALID_ARGUMENT = 3,    /* the caller broke the contract, or a file or an option is wrong */
  DEPUTY_DEADLINE_EXCEEDED = 4,   /* the deadline of the call passed before it was done */
  DEPUTY_NOT_FOUND = 5,           /* there is no object of that name */
  DEPUTY_OUT_OF_MEMORY = 8,       /* memory of the host or of the device; a buffer that is too small */
  DEPUTY_FAILED_PRECONDITION = 9, /* right in another state of the object */
  DEPUTY_ABORTED = 10,            /* given up because of a conflict with another call; it may be tried again */
  DEPUTY_NOT_SUPPORTED = 12,      /* valid, but this delegate cannot: the host takes the next one */
  DEPUTY_INTERNAL = 13,           /* a fault of the plugin */
  DEPUTY_UNAVAILABLE = 14,        /* the device or driver cannot now; it may be tried again later */
  /* The device is gone, or was reset. All objects of the instance stay, and every call for them is still legal: each
   * returns DEVICE_LOST until the device works again with all executables as before, if it ever does. Functions that
   * end an object succeed without the device, and do not wait for it. No other code says that a device is lost. */
  DEPUTY_DEVICE_LOST = 15,
  DEPUTY_INCOMPATIBLE = 16 /* made by another version: a blob, a driver, a firmware */
};
#define DEPUTY_VENDOR_FIRST 0x10000 /* the first code, and the first reason, of the vendors' own */

/* A failure. Made with deputy_host.status_new and freed by the host; NULL is success. A plugin that gets one from a
 * function of the host returns it as the result of its current call, or ends it with deputy_host.status_release. */
typedef struct deputy_status deputy_status;

/* Thread and state tags. Every function's comment ends with one thread tag; functions in a row share the comment above
 * the first of them.
 *
 * [any-thread]           may be called from any thread, also at the same time on the same object
 * [load-time]            one call at a time per instance, from any thread; a function without an instance: one call at
 *                        a time per plugin. Executes of executables that exist may run at the same time, also of the
 *                        same instance, unless the delegate has DEPUTY_DELEGATE_SERIAL without
 *                        DEPUTY_DELEGATE_LOADS_WHILE_RUNNING; never an execute of the object that the call ends
 * [one-call-per-context] any thread, but one call at a time per execution context; different contexts run in parallel
 *                        unless the delegate says DEPUTY_DELEGATE_SERIAL or ext/concurrency.h says otherwise
 * [in-call]              only inside the call that was given the object, one call at a time
 * [any-state]            beside a thread tag: allowed at every point of an object's life; without it, only between
 *                        creation and destruction
 * [optional]             behind the others: the slot may be NULL
 *
 * Order of life, kept by the host: query, init, probe, open, support query, propose, compile or restore, context
 * create, resize* and execute* in turns, context destroy, executable destroy, close, shutdown; serialize* at any time
 * of an executable's life. A call that failed to create an object is never followed by a destroy of it. */

#endif /* DEPUTY_ABI_BASE_H */
