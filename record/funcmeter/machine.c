/* The processor architectures that funcmeter supports.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/machine.h"

const struct machine *machine_find(uint16_t elf, uint64_t size)
{
    static const struct machine *const machines[] = {
#ifdef __x86_64__
        &machine_x86_64, /* needs Zydis */
#endif
        &machine_aarch64,
        &machine_aarch64_far,
    };
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i]->elf == elf &&
            (machines[i]->most_code == 0 || size <= machines[i]->most_code))
            return machines[i];
    return NULL;
}
