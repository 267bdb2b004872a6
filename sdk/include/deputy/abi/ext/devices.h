/* "deputy.devices/1": the devices that a delegate finds in this machine. Their order is their number: deputy_open_args
 * names one by it. A delegate without this extension has one device, number 0, of which nothing is known. */
#ifndef DEPUTY_ABI_EXT_DEVICES_H
#define DEPUTY_ABI_EXT_DEVICES_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_DEVICES "deputy.devices/1"

typedef uint32_t deputy_device_kind;
enum {
  DEPUTY_DEVICE_OTHER = 0,
  DEPUTY_DEVICE_CPU = 1,
  DEPUTY_DEVICE_GPU = 2,
  DEPUTY_DEVICE_NPU = 3,
  DEPUTY_DEVICE_DSP = 4
};

typedef struct deputy_device_info {
  uint32_t struct_size;
  deputy_device_kind kind;
  deputy_str name;       /* unique among the delegate's devices, never empty; what `device:` in the YAML may say */
  deputy_str driver;     /* versions of driver and firmware, as text for people; may be empty */
  uint64_t memory_bytes; /* 0: unknown */
  uint64_t frequency_hz; /* the clock that the device has now; 0: unknown */
} deputy_device_info;

typedef struct deputy_device_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies what it is given. A device that cannot be meant (no name, a name twice, more than 256 devices) is refused
   * with INVALID_ARGUMENT, which the delegate hands back. Only inside enumerate(). [in-call] */
  deputy_status *(*add)(void *self, const deputy_device_info *device);
} deputy_device_sink;

typedef struct deputy_ext_devices {
  uint32_t struct_size;
  uint32_t reserved;
  /* Adds every device, number 0 first. As cheap as probe, and like it without side effects: nothing is opened, no clock
   * is changed. No device is a success with none added. The numbers hold until the machine's devices change.
   * [load-time] */
  deputy_status *(*enumerate)(const deputy_delegate *self, const deputy_host *host, const deputy_device_sink *sink);
} deputy_ext_devices;

#endif /* DEPUTY_ABI_EXT_DEVICES_H */
