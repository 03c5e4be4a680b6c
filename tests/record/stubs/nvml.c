/* Replaces NVIDIA's NVML: two GPUs, the first of 50 W, the second without an energy counter.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int nvmlInit_v2(void)
{
    return getenv("STUB_BROKEN") != NULL ? 9 : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    *handle = (char *)0 + index + 1;
    return 0;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned size)
{
    snprintf(name, size, "Stub GPU %ld", (long)handle);
    return 0;
}

/* [mJ] at 50 W */
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *energy)
{
    struct timespec now;
    if ((long)handle != 1)
        return 3;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *energy = (unsigned long long)(((double)now.tv_sec + (double)now.tv_nsec * 1e-9) * 50e3);
    return 0;
}

const char *nvmlErrorString(int code)
{
    return code == 3 ? "Not Supported" : "Uninitialized";
}
