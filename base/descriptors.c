/* The limit on open files.
 * SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <sys/resource.h>

void descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
