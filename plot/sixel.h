/* Asking the terminal whether it shows pictures (sixel graphics).
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SIXEL_H
#define PLOT_SIXEL_H

#include <stdbool.h>
#include <stddef.h>

/* Does the process's own terminal, if stdout is that one, say that it shows sixel graphics? Asks
 * with Primary Device Attributes and waits for the answer, at most SIXEL_PATIENCE; signals from the
 * keyboard are held meanwhile, so that the terminal is always left as it was. What was typed before
 * is not touched (it is not asked then, and the answer is no), what is typed meanwhile is given
 * back as far as the system allows. */
bool sixel_shown(void);

enum { SIXEL_PATIENCE = 200 /* [ms] */ };

/* The answer to Primary Device Attributes that TEXT ends in, "ESC [ ? 6 2 ; 4 c": returns where it
 * begins, or NULL for none. *SIXEL: is 4, sixel graphics, among the attributes behind the level? */
const char *sixel_answer(const char *text, size_t size, bool *sixel);

#endif
