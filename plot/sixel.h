/* Asks the terminal whether it can show pictures (sixel graphics).
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SIXEL_H
#define PLOT_SIXEL_H

#include <stdbool.h>
#include <stddef.h>

/* Is stdout the terminal of the process, and does it support sixel graphics? Asks with Primary Device Attributes and
 * waits at most SIXEL_PATIENCE for the answer; keyboard signals are blocked meanwhile, so that the terminal is always
 * restored. If input is already waiting, it does not ask and returns false. Input that is typed while waiting is put
 * back as far as the system allows. */
bool sixel_shown(void);

enum { SIXEL_PATIENCE = 200 /* [ms] */ };

#endif
