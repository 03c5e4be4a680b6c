/* Preloaded: writing a byte to a pipe fails with EIO; all other writes succeed.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int fd, const void *data, size_t size)
{
    struct stat about;
    if (size == 1 && fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_write, fd, data, size);
}
