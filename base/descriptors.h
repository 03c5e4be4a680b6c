/* How many files a process may have open.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

/* Allows as many as the hard limit does: 1024, the usual soft limit, are too few for the binaries of some profiles, and for
 * the events of many threads. Children inherit the limit: call it after fork where they must not. */
void descriptors_raise(void);

#endif
