/* The runtime library of a made-up TPU: float arithmetic on buffers of its own, which are few. */
#ifndef TPU_RUNTIME_H
#define TPU_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tpu_device tpu_device;
typedef struct tpu_buffer tpu_buffer;

/* NULL: no memory. Buffers are freed before their device. */
tpu_device *tpu_open(size_t memory_bytes);
void tpu_close(tpu_device *device);

/* NULL: the device has not so much left. */
tpu_buffer *tpu_alloc(tpu_device *device, size_t elements);
void tpu_free(tpu_device *device, tpu_buffer *buffer);
void tpu_write(tpu_buffer *to, const float *from);
void tpu_read(const tpu_buffer *from, float *to);

/* Buffers of one size. */
void tpu_relu(const tpu_buffer *x, tpu_buffer *y);
void tpu_add(const tpu_buffer *a, const tpu_buffer *b, tpu_buffer *y);
void tpu_mul(const tpu_buffer *a, const tpu_buffer *b, tpu_buffer *y);

#ifdef __cplusplus
}
#endif

#endif /* TPU_RUNTIME_H */
