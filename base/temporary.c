/* Unlinked temporary files.
 * SPDX-License-Identifier: MIT */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

static int try_temporary(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char *path = mem_printf("%s/pbin-XXXXXX", folder); /* file systems without O_TMPFILE */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

int temporary_file(struct error *err)
{
    const char *wanted = getenv("TMPDIR");
    if (wanted != NULL && wanted[0] != '\0') {
        int fd = try_temporary(wanted);
        return fd >= 0 ? fd : error_set_errno(err, wanted, errno, "cannot create a temporary file");
    }
    int fd = try_temporary("/var/tmp");
    if (fd < 0)
        fd = try_temporary("/tmp");
    return fd >= 0 ? fd : error_set_errno(err, "/tmp", errno, "cannot create a temporary file");
}
