/* Allocations that fail, in a program that is linked with failing_malloc.c. [any-thread] */
#ifndef DEPUTY_TESTS_SUPPORT_FAILING_MALLOC_H
#define DEPUTY_TESTS_SUPPORT_FAILING_MALLOC_H

#ifdef __cplusplus
extern "C" {
#endif

/* Counts from 0, and lets the allocation with this number fail; -1: none. */
void fail_allocation(long number);
/* Since then. */
long allocation_count(void);

#ifdef __cplusplus
}
#endif

#endif
