/* The common code of tools that convert one file to pbin: command line, input, and start and end.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_CONVERTER_H
#define CONVERT_CONVERTER_H

#include "base/stream.h"
#include "base/tool.h"
#include "convert/symbolize/given_code.h"
#include "convert/symbolize/symbol_options.h"

/* The first member of the options of such a tool. The tool sets WHAT and AWAITED, names of its
 * input for messages, such as "trace" and "a trace of TracerV". */
struct converter {
    struct tool_common common;
    const char *what, *awaited;
    /* Set by the tool: converts IN. OPTIONS begins with this struct. Returns 0, or -1 with ERR
     * filled. */
    int (*convert)(void *options, struct stream *in, struct error *err);
    const struct argp *argp; /* set by converter_main; the rest is set by the command line */
    const char *input;       /* NULL: stdin */
    const char *name;        /* of the profile; NULL: of the file */
    struct given_code_options code;
    struct symbolizer_options symbols;
};

/* Children for the parser of a tool: the options about symbols, or these and the options about given code. */
extern const struct argp_child converter_symbols[], converter_code[];

/* The parser of a tool, or called by its parser for keys that it does not know: accepts -n and the
 * only argument. Its input is a struct converter. */
error_t converter_parse(int key, char *argument, struct argp_state *state);
/* Ends the program with a message if both a RATE [Hz] and a total time [s] were given; 0: not
 * given. */
void converter_check_time(const struct argp_state *state, uint64_t rate, double seconds);

/* The main of the tool NAME: reads the command line with ARGP and the common options SHARED (enum
 * tool_options), opens the input, and converts it. Returns the exit status. */
int converter_main(struct converter *converter, const char *name, const struct argp *argp,
                   unsigned shared, int argc, char **argv);

#endif
