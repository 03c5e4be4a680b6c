/* Help on one screen, and usage without repetitions, from argp's tables of options.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOOL_HELP_H
#define BASE_TOOL_HELP_H

#include <argp.h>
#include <stddef.h>

/* Flag of an argp_option: -h shows it. argp ignores the flag. */
enum { EVERYDAY = 0x1000 };

/* Both print the options of COUNT ARGPS, and of their children, to stdout. The first ARGP is that of the tool: its
 * args_doc and doc are used; the part of doc after a vertical tab contains the examples. INPUT is for help filters. */

/* Prints the output of -h: purpose, everyday options (each description up to a semicolon) and examples. */
void tool_print_brief(const struct argp *const *argps, size_t count, void *input);

/* Prints all options, each once. */
void tool_print_usage(const struct argp *const *argps, size_t count);

#endif
