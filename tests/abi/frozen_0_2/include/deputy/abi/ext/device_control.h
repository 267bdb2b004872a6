/* "deputy.device_control/1": clock and power of the opened device. The request arrives as the option `frequency` of
 * open; this table reads back the clock that the device granted, and the cost of the work. A plugin that sets a clock
 * restores it: close of the last instance on a device restores the clock that the first open found, also after a run
 * that failed. */
#ifndef DEPUTY_ABI_EXT_DEVICE_CONTROL_H
#define DEPUTY_ABI_EXT_DEVICE_CONTROL_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_DEVICE_CONTROL "deputy.device_control/1"

/* Levels follow MindSpore Lite: 1 low power, 2 balanced, 3 high performance, 4 extreme. */
typedef struct deputy_device_state {
  uint32_t struct_size;
  uint32_t level_requested; /* 0: none, or an explicit frequency */
  uint32_t level_granted;   /* 0: between levels */
  uint32_t reserved;
  uint64_t frequency_requested_hz; /* 0: a level was requested */
  uint64_t frequency_granted_hz;
  uint64_t busy_ns;       /* device time of all finished runs since open, on the device's own clock */
  uint64_t runs;          /* finished runs since open */
  deputy_str device_name; /* the plugin's; unchanged until the instance is closed */
} deputy_device_state;

typedef struct deputy_ext_device_control {
  uint32_t struct_size;
  uint32_t reserved;
  /* Fills as much of *out as out->struct_size allows; the numbers are a snapshot of one moment. NOT_SUPPORTED if the
   * device of this instance has no clock to report, DEVICE_LOST if it is lost; *out is undefined then. [any-thread] */
  deputy_status *(*device_state)(deputy_instance *instance, deputy_device_state *out);
} deputy_ext_device_control;

#endif /* DEPUTY_ABI_EXT_DEVICE_CONTROL_H */
