/* "deputy.concurrency/1": which calls of execute may overlap. Without it all may, and with the delegate's flag
 * DEPUTY_DELEGATE_SERIAL none, regardless of this table. Calls for one context never overlap. */
#ifndef DEPUTY_ABI_EXT_CONCURRENCY_H
#define DEPUTY_ABI_EXT_CONCURRENCY_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_CONCURRENCY "deputy.concurrency/1"

enum {
  DEPUTY_CONCURRENT_CONTEXTS = 1u,    /* two contexts of one executable */
  DEPUTY_CONCURRENT_EXECUTABLES = 2u, /* two executables of one instance */
  DEPUTY_CONCURRENT_INSTANCES = 4u    /* two instances of the delegate in this process */
};

typedef struct deputy_ext_concurrency {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writes DEPUTY_CONCURRENT_... bits; they hold until the instance is closed. With an unknown bit nothing overlaps.
   * Called once, after open. The host delays exactly the calls that may not overlap, in the order of their arrival; if
   * two instances differ in INSTANCES, the stricter one applies. [load-time] */
  deputy_status *(*concurrency)(deputy_instance *instance, uint32_t *flags);
} deputy_ext_concurrency;

#endif /* DEPUTY_ABI_EXT_CONCURRENCY_H */
