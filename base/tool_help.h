/* Help on one screen, and usage without repetitions, from argp's tables of options.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOOL_HELP_H
#define BASE_TOOL_HELP_H

#include <argp.h>
#include <stddef.h>

/* Flag of an argp_option that -h shows; argp ignores it. */
enum { EVERYDAY = 0x1000 };

/* Both print the options of COUNT ARGPS, and of their children, to stdout. The first is the tool's own: its args_doc and doc
 * are used, of which the part after a vertical tab holds the examples. INPUT is for help filters. */

/* Purpose, everyday options, each as far as a semicolon, and examples: what -h shows. */
void tool_print_brief(const struct argp *const *argps, size_t count, void *input);

/* All options, each once. */
void tool_print_usage(const struct argp *const *argps, size_t count);

#endif
