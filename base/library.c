/* Loads libraries.
 * SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_load(const char *file, const struct library_function *functions)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (; library != NULL && functions->name != NULL; functions++) {
        void *address = dlsym(library, functions->name);
        memcpy(functions->pointer, &address, sizeof address);
        if (address == NULL) {
            dlclose(library);
            library = NULL;
        }
    }
    return library;
}
