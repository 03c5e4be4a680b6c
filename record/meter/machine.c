/* The processor architectures that funcmeter knows.
 * SPDX-License-Identifier: MIT */
#include "record/meter/machine.h"

const struct machine *machine_find(uint16_t elf)
{
    static const struct machine *const machines[] = {&machine_x86_64};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i]->elf == elf)
            return machines[i];
    return NULL;
}
