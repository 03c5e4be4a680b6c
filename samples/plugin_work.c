/* The plugin of plugin.c: built as plugin_work.so.
 * SPDX-License-Identifier: MIT */
#include <time.h>

void plugin_burn(double seconds);

/* Uses SECONDS of CPU time. */
void plugin_burn(double seconds)
{
    volatile unsigned long state = 1;
    struct timespec now;
    do {
        for (int i = 0; i < 1000000; i++)
            state = state * 6364136223846793005UL + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
}
