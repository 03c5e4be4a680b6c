/* A PMU that is a file with a number in it: hwmon and powercap files of sysfs, or what a script
 * keeps writing. SPDX-License-Identifier: MIT */
#include "record/pmu.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Opened anew for every value: a file that was replaced by rename is then the new one, and sysfs
 * computes its number at that moment. Not blocking, in case it is a FIFO. */
static int read_file(void *state, double *value, struct error *err)
{
    const char *path = state;
    char text[128], *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, path, errno, "cannot read the PMU value");
    ssize_t got = read(fd, text, sizeof text - 1);
    int errnum = errno;
    close(fd);
    if (got < 0)
        return error_set_errno(err, path, errnum, "cannot read the PMU value");
    text[got] = '\0';
    *value = strtod(text, &end);
    if (end == text || !isfinite(*value) || (*end != '\0' && !isspace((unsigned char)*end)))
        return error_set(err, path, NO_OFFSET, "expected a number as PMU value, found '%.40s'",
                         text);
    return 0;
}

static int open_file(const char *argument, void **state, struct error *err)
{
    double value;
    *state = (void *)(uintptr_t)argument; /* read only: the state is the path itself */
    return read_file(*state, &value, err);
}

static void close_file(void *state)
{
    (void)state;
}

const struct pmu_source pmu_file = {
    .name = "file",
    .argument = "PATH",
    .help = "a file that holds a number, read anew for every sample",
    .open = open_file,
    .read = read_file,
    .close = close_file,
};
