/* "deputy.devices/1": the devices that a delegate finds in this machine. A configuration names one by its id, by its
 * name, or by its number in the order of the moment. A delegate without this extension has one device, without further
 * information. */
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
  deputy_str id;         /* of this very device, the same after a restart or when others come and go: a serial number, a
                            bus address; unique among the delegate's devices, never empty; deputy_open_args.device */
  deputy_str name;       /* for people, never empty; identical cards may have one name */
  deputy_str driver;     /* versions of driver and firmware, as text for people; may be empty */
  uint64_t memory_bytes; /* 0: unknown */
  uint64_t frequency_hz; /* the clock that the device has now; 0: unknown */
} deputy_device_info;

typedef struct deputy_device_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the device. A device that cannot be addressed (no id, no name, an id twice, more than 256 devices) is
   * refused with INVALID_ARGUMENT, which the delegate returns. Only inside enumerate(). [in-call] */
  deputy_status *(*add)(void *self, const deputy_device_info *device);
} deputy_device_sink;

typedef struct deputy_ext_devices {
  uint32_t struct_size;
  uint32_t reserved;
  /* Adds every device, the preferred one first. As cheap as probe, and like it without side effects: nothing is opened,
   * no clock is changed. Without any device it succeeds and adds none. [load-time] */
  deputy_status *(*enumerate)(const deputy_delegate *self, const deputy_host *host, const deputy_device_sink *sink);
} deputy_ext_devices;

#endif /* DEPUTY_ABI_EXT_DEVICES_H */
