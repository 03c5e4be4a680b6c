/* Complete reads and writes, continued after interruptions by signals or the kernel.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TRANSFER_H
#define BASE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

/* Reads exactly COUNT bytes from FD. Returns false at the end of the data, with errno 0, and on an error. */
bool read_all(int fd, void *to, size_t count);

/* Writes COUNT bytes to FD. Returns false on an error, with errno set. */
bool write_all(int fd, const void *from, size_t count);

#endif
