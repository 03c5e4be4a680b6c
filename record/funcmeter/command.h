/* The command to be metered: finds its file, and checks whether it can be metered.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_COMMAND_H
#define RECORD_FUNCMETER_COMMAND_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/elf/elf_file.h"

/* Returns the path at which a shell would find COMMAND, or NULL. Caller frees. */
char *command_find(const char *command);

/* Returns whether FILE lacks a dynamic linker, which could load a library. */
bool command_is_static(const struct elf_file *file);

/* Checks that COMMAND would load the preload library. Returns 0, or -1 with the reason in ERR. */
int command_check(const char *command, struct error *err);
/* Checks that the kernel can count at breakpoints in COMMAND. Return values as above. */
int command_check_for_probes(const char *command, struct error *err);

#endif
