/* Where the file behind a mapping's label may be.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/find_binary.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Folders of the base system, and of Debian's architectures below lib/ and usr/lib/. */
static const char *const folders[] = {
    "/lib",       "/lib64",         "/usr/lib",     "/usr/lib64",     "/lib32",
    "/usr/lib32", "/usr/local/lib", "/usr/bin",     "/bin",           "/usr/sbin",
    "/sbin",      "/usr/local/bin", "/usr/libexec", "/usr/local/sbin"};
static const char *const triplets[] = {
    "x86_64-linux-gnu",   "aarch64-linux-gnu", "arm-linux-gnueabihf",     "i386-linux-gnu",
    "arm-linux-gnueabi",  "riscv64-linux-gnu", "powerpc64le-linux-gnu",   "powerpc64-linux-gnu",
    "powerpc-linux-gnu",  "s390x-linux-gnu",   "mips64el-linux-gnuabi64", "mipsel-linux-gnu",
    "x86_64-linux-gnux32"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct search {
    bool (*take)(void *context, const char *path);
    void *context;
};

/* A path too long to be opened is no candidate. */
static bool offer(const struct search *s, const char *folder, const char *between, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, between, name);
    return length > 0 && (size_t)length < sizeof path && s->take(s->context, path);
}

const char *label_base_name(const char *label)
{
    const char *slash = strrchr(label, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : label;
}

static bool in_search_paths(const struct search *s, const struct symbolizer_options *options,
                            const char *label, const char *base)
{
    for (size_t i = 0; i < options->search_path_count; i++) {
        const char *folder = options->search_paths[i];
        if (base != label && offer(s, folder, label[0] == '/' ? "" : "/", label))
            return true;
        if (offer(s, folder, "/", base))
            return true;
    }
    return false;
}

static bool in_system(const struct search *s, const char *sysroot, const char *base)
{
    char folder[PATH_MAX];
    for (size_t i = 0; i < COUNT(triplets); i++)
        for (int usr = 0; usr < 2; usr++) {
            int length = snprintf(folder, sizeof folder, "%s%s/lib/%s", sysroot, usr ? "/usr" : "",
                                  triplets[i]);
            if ((size_t)length < sizeof folder && offer(s, folder, "/", base))
                return true;
        }
    for (size_t i = 0; i < COUNT(folders); i++) {
        int length = snprintf(folder, sizeof folder, "%s%s", sysroot, folders[i]);
        if ((size_t)length < sizeof folder && offer(s, folder, "/", base))
            return true;
    }
    return false;
}

bool find_binary(const struct symbolizer_options *options, const char *label,
                 bool (*take)(void *context, const char *path), void *context)
{
    const struct search s = {take, context};
    const char *base = label_base_name(label);
    const char *sysroot = options->sysroot != NULL ? options->sysroot : "";
    if (base[0] == '\0' || base[0] == '[' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return false; /* anonymous memory, [vdso], [heap]: no file */
    return in_search_paths(&s, options, label, base) ||
           offer(&s, label[0] == '/' ? sysroot : ".", label[0] == '/' ? "" : "/", label) ||
           offer(&s, ".", "/", base) || in_system(&s, sysroot, base);
}
