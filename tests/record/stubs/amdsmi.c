/* Replaces AMD's SMI library: two sockets with a GPU each, 30 and 12 W, in counts of 15.3 uJ.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <time.h>

int amdsmi_init(uint64_t flags)
{
    return flags == 2 ? 0 : 1;
}

int amdsmi_shut_down(void)
{
    return 0;
}

int amdsmi_get_socket_handles(uint32_t *count, void **handles)
{
    if (*count < 2)
        return 1;
    *count = 2;
    handles[0] = (char *)0 + 30;
    handles[1] = (char *)0 + 12;
    return 0;
}

int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **handles)
{
    if (*count < 1)
        return 1;
    *count = 1;
    handles[0] = socket;
    return 0;
}

int amdsmi_get_energy_count(void *handle, uint64_t *energy, float *resolution, uint64_t *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    *resolution = 15.3f;
    *energy = (uint64_t)(seconds * (double)(long)handle / (double)*resolution * 1e6);
    *stamp = (uint64_t)(seconds * 1e9);
    return 0;
}
