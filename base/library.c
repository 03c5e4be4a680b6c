/* Loads libraries.
 * SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_load(const char *file, const struct library_function *functions, size_t count)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < count; i++) {
        void *address = dlsym(library, functions[i].name);
        memcpy(functions[i].pointer, &address, sizeof address);
        if (address == NULL) {
            dlclose(library);
            library = NULL;
        }
    }
    return library;
}
