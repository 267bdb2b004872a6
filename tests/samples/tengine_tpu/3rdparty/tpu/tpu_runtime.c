/* The made-up TPU's runtime, without a TPU. */
#include "tpu_runtime.h"

#include <stdlib.h>
#include <string.h>

struct tpu_device {
  size_t left;
};

struct tpu_buffer {
  size_t elements;
  float values[];
};

tpu_device *tpu_open(size_t memory_bytes) {
  tpu_device *device = malloc(sizeof *device);
  if (device != NULL) device->left = memory_bytes;
  return device;
}

void tpu_close(tpu_device *device) { free(device); }

tpu_buffer *tpu_alloc(tpu_device *device, size_t elements) {
  const size_t bytes = elements * sizeof(float);
  tpu_buffer *buffer = bytes > device->left ? NULL : malloc(sizeof *buffer + bytes);
  if (buffer == NULL) return NULL;
  buffer->elements = elements;
  device->left -= bytes;
  return buffer;
}

void tpu_free(tpu_device *device, tpu_buffer *buffer) {
  device->left += buffer->elements * sizeof(float);
  free(buffer);
}

void tpu_write(tpu_buffer *to, const float *from) {
  if (to->elements != 0) memcpy(to->values, from, to->elements * sizeof(float));
}

void tpu_read(const tpu_buffer *from, float *to) {
  if (from->elements != 0) memcpy(to, from->values, from->elements * sizeof(float));
}

void tpu_relu(const tpu_buffer *x, tpu_buffer *y) {
  for (size_t i = 0; i < y->elements; ++i) y->values[i] = x->values[i] > 0 ? x->values[i] : 0;
}

void tpu_add(const tpu_buffer *a, const tpu_buffer *b, tpu_buffer *y) {
  for (size_t i = 0; i < y->elements; ++i) y->values[i] = a->values[i] + b->values[i];
}

void tpu_mul(const tpu_buffer *a, const tpu_buffer *b, tpu_buffer *y) {
  for (size_t i = 0; i < y->elements; ++i) y->values[i] = a->values[i] * b->values[i];
}
