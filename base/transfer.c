/* Reads and writes that transfer all bytes.
 * SPDX-License-Identifier: MIT */
#include "base/transfer.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

bool read_all(int fd, void *to, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = read(fd, (uint8_t *)to + done, count - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool write_all(int fd, const void *from, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t put = write(fd, (const uint8_t *)from + done, count - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        done += (size_t)put;
    }
    return true;
}
