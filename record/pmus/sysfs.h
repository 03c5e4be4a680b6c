/* Files that contain a number: those of /sys, and replacements for them.
 *
 * The root of /sys can be moved for tests and containers: the environment variable PBIN_SYSROOT is
 * prepended to every path of this module. It is ignored in a program with raised privileges
 * (setuid, file capabilities), because its caller must not choose the files that it opens.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PMUS_SYSFS_H
#define RECORD_PMUS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Returns a path below the root, from FORMAT ("/sys/class/..."). Caller frees. */
char *sysfs_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The entries of FOLDER whose names begin with PREFIX, in numerical order (2 before 10); empty if FOLDER does not
 * exist. */
struct sysfs_list {
    char **names;
    size_t count, capacity;
};
void sysfs_list(struct sysfs_list *list, const char *folder, const char *prefix);
void sysfs_list_free(struct sysfs_list *list);

/* Returns the first line of FOLDER/NAME, which the caller frees; or NULL with errno set. */
char *sysfs_line(const char *folder, const char *name);
/* Reads the number at the start of that line. Returns whether there is a number >= 0. */
bool sysfs_number(const char *folder, const char *name, double *number);

/* A file that is read repeatedly. On sysfs its descriptor is kept; elsewhere the file is opened
 * each time, so that a replaced file is read, and a removed one is detected. */
struct sysfs_file {
    char *path;
    int fd; /* -1: opened each time */
};

enum { SYSFS_TEXT = 128 };

/* Opens FOLDER/NAME (if FOLDER is NULL: NAME) and reads it once. Returns 0, or -1 with ERR
 * filled. */
int sysfs_open(struct sysfs_file *file, const char *folder, const char *name, struct error *err);
void sysfs_close(struct sysfs_file *file);

/* Reads the whole file into TEXT. Returns 1; 0 if the file is empty or the device has no value at
 * the moment (EAGAIN, ENODATA); -1 with ERR filled. */
int sysfs_read(const struct sysfs_file *file, char text[SYSFS_TEXT], struct error *err);
/* Opens the file PATH and reads it. An empty file may be about to be written: waits at most 0.2 s
 * for its text. Returns 0, or -1 with ERR filled. */
int sysfs_open_filled(struct sysfs_file *file, const char *path, char text[SYSFS_TEXT],
                      struct error *err);
/* Read the number at the beginning of the file, which must be followed by white space: a counter,
 * or any finite number. Return values are those of sysfs_read; other contents are an error. */
int sysfs_count(const struct sysfs_file *file, uint64_t *count, struct error *err);
int sysfs_gauge(const struct sysfs_file *file, double *value, struct error *err);

#endif
