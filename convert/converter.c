/* The common code of tools that convert one file to pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/converter.h"

const struct argp_child converter_symbols[] = {{.argp = &symbol_argp}, {0}};
const struct argp_child converter_code[] = {
    {.argp = &given_code_argp}, {.argp = &symbol_argp}, {0}};

error_t converter_parse(int key, char *argument, struct argp_state *state)
{
    struct converter *c = state->input;
    const struct argp_child *child = c->argp->children;
    switch (key) {
    case ARGP_KEY_INIT:
        for (size_t i = 0; child != NULL && child[i].argp != NULL; i++)
            state->child_inputs[i] =
                child[i].argp == &symbol_argp ? (void *)&c->symbols : (void *)&c->code;
        return 0;
    case 'n':
        c->name = argument;
        return 0;
    case ARGP_KEY_ARG:
        tool_only_input(state, c->what, &c->input, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void converter_check_time(const struct argp_state *state, uint64_t rate, double seconds)
{
    if (rate != 0 && seconds != 0)
        argp_error(state, "-r cannot be combined with --total-time");
}

int converter_main(struct converter *c, const char *name, const struct argp *argp, unsigned shared,
                   int argc, char **argv)
{
    struct error err = {0};
    tool_start(&c->common, name);
    c->argp = argp;
    tool_parse(argp, shared, argc, argv, c);
    report_awaited(&c->common.reporter, c->input, c->awaited);
    struct stream *in = stream_open(c->input, &err);
    int result = in == NULL ? -1 : c->convert(c, in, &err);
    stream_close(in);
    elf_search_free(&c->symbols.search);
    return tool_end(&c->common, result, &err);
}
