/* Files that have no name.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include "base/error.h"

/* An unlinked temporary file in $TMPDIR (default /var/tmp, then /tmp): file descriptor that the caller
 * closes, or -1 with ERR filled. */
int temporary_file(struct error *err);

#endif
