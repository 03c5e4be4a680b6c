/* Labels of rows without code.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_LABELS_H
#define ANALYZE_ATTRIBUTE_LABELS_H

#include <stdint.h>

#define LABEL_IDLE     "_idle"  /* energy while no thread used CPU time */
#define LABEL_GAP      "_gap"   /* the part of intervals that exceeds the longest one allowed */
#define LABEL_OTHER    "_other" /* what a limit cut off */
#define LABEL_TOTAL    "_total"
#define LABEL_RESIDUAL "_residual" /* energy that least squares leave over */

/* What filters exclude has a row of its own, which tables show as a fact: all its texts are this label, all its numbers
 * this number. */
#define LABEL_EXCLUDED  "_excluded"
#define NUMBER_EXCLUDED UINT64_MAX

#endif
