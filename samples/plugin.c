/* Uses CPU time in a plugin that is loaded while the program runs.
 *
 * Recipe: sampler -o plugin.bin -- plugin 1
 * The profile shows plugin_burn in plugin_work.so, with which the program is not linked.
 *
 * usage: plugin SECONDS                      plugin_work.so must be in the same folder
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0)
        return 1;
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "plugin_work.so");
    usleep(50000);
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "plugin: %s\n", dlerror());
        return 1;
    }
    void (*burn)(double);
    *(void **)&burn = dlsym(library, "plugin_burn");
    if (burn == NULL)
        return 1;
    burn(argc > 1 ? atof(argv[1]) : 1);
    dlclose(library);
    return 0;
}
