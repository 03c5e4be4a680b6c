/* The limit on open files.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

/* Raises the soft limit on open files to the hard limit, because its usual value, 1024, is too low
 * for the binaries of some profiles, and for the events of many threads. Children inherit the
 * limit: if they must not, call this function after fork. */
void descriptors_raise(void);

#endif
