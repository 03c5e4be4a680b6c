/* Asks the terminal whether it can show pictures (sixel graphics).
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SIXEL_H
#define PLOT_SIXEL_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether stdout is the terminal of the process and supports sixel graphics. Asks with
 * Primary Device Attributes, and waits at most SIXEL_PATIENCE for the answer; keyboard signals are
 * blocked meanwhile, so that the terminal is always restored. If input is already waiting, it does
 * not ask, and returns false. Input that is typed while waiting is put back if the system allows
 * this. */
bool sixel_shown(void);

enum { SIXEL_PATIENCE = 200 /* [ms] */ };

#endif
