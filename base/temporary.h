/* Unlinked temporary files.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include "base/error.h"

/* Creates an unlinked temporary file in $TMPDIR (default: /var/tmp, then /tmp). Returns a file
 * descriptor, which the caller closes, or -1 with ERR filled. */
int temporary_file(struct error *err);

#endif
