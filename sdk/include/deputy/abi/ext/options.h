/* "deputy.options/1": the options that a delegate supports, so that the host can check a YAML before it opens anything,
 * and their values in force. */
#ifndef DEPUTY_ABI_EXT_OPTIONS_H
#define DEPUTY_ABI_EXT_OPTIONS_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_OPTIONS "deputy.options/1"

typedef uint32_t deputy_option_type;
enum {
  DEPUTY_OPTION_BOOL = 1,     /* "true" | "false" */
  DEPUTY_OPTION_INT = 2,      /* decimal, within int_minimum..int_maximum */
  DEPUTY_OPTION_FLOAT = 3,    /* decimal, within minimum..maximum */
  DEPUTY_OPTION_STRING = 4,   /* as written */
  DEPUTY_OPTION_ENUM = 5,     /* one of the choices */
  DEPUTY_OPTION_FREQUENCY = 6 /* low | balanced | high | extreme | 1..4, or with a unit ("800MHz") when maximum > 0;
                                 arrives as a level "1".."4" or as hertz "800000000Hz" */
};

enum {
  DEPUTY_OPTION_SETTABLE = 1u /* set_option changes it while executables and contexts exist */
};

typedef struct deputy_option_info {
  uint32_t struct_size;
  deputy_option_type type;
  deputy_str name;
  deputy_str help;           /* one sentence */
  deputy_str unit;           /* "", "ms", "Hz", ... */
  deputy_str default_value;  /* in force if it is not set; checked as the value of a YAML is, and never sent to open */
  const deputy_str *choices; /* ENUM: in the order in which they are shown */
  uint64_t choice_count;
  int64_t int_minimum; /* INT */
  int64_t int_maximum;
  double minimum; /* FLOAT; FREQUENCY: in hertz, 0 and 0 when only levels are allowed */
  double maximum;
  uint32_t flags; /* DEPUTY_OPTION_... */
  uint32_t reserved;
} deputy_option_info;

typedef struct deputy_ext_options {
  uint32_t struct_size;
  uint32_t reserved;
  /* Constant over the life of the plugin. [any-thread] [any-state] */
  uint32_t (*option_count)(const deputy_delegate *self);
  const deputy_option_info *(*option_at)(const deputy_delegate *self, uint32_t index);
  /* The value in force, written into `buffer` with a NUL, in the form of deputy_open_args.options (a FREQUENCY as a
   * level "1".."4" or as "800000000Hz"); *size is its length without the NUL (also when it did not fit, then
   * OUT_OF_MEMORY). NOT_FOUND for an unknown name. [load-time] */
  deputy_status *(*get_option)(deputy_instance *instance, deputy_str name, char *buffer, uint64_t capacity,
                               uint64_t *size);
  /* Changes an option with DEPUTY_OPTION_SETTABLE for all runs that begin afterwards; the value is checked and in the
   * form of deputy_open_args.options. After a failure the old value is in force: UNAVAILABLE where the device cannot
   * now. Results may not change beyond what the option's help says. NULL: no option is settable. [load-time] [optional]
   */
  deputy_status *(*set_option)(deputy_instance *instance, deputy_str name, deputy_str value);
} deputy_ext_options;

#endif /* DEPUTY_ABI_EXT_OPTIONS_H */
