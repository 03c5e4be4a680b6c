/* Libraries that are loaded at run time, only when they are used.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

/* A function of a library, and the address of the pointer that receives its address. */
struct library_function {
    const char *name;
    void *pointer;
};

/* Loads the library FILE and sets the pointers of FUNCTIONS, which end with {0}. Returns a handle
 * for dlclose, or NULL if the library or one of the functions is missing. */
void *library_load(const char *file, const struct library_function *functions);

#endif
