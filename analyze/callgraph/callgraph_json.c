/* A call graph as a JSON document: facts, functions with their callers and callees, and cycles.
 *
 *   {"index":2,"function":"work","self_s":0.05,"children_s":0.2,"calls":3,"recursive_calls":2,
 *    "callers":[{"index":1,"function":"main","calls":3,"of":4,"self_s":0.05,"children_s":0.2}],
 *    "callees":[...]}
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/callgraph/callgraph_view.h"
#include "base/memory.h"
#include "formats/table/json.h"

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* Sets a member such as "energy_J", with the same names as in the facts of pbin-aggregate. */
static void set_energy(const struct callgraph_view *v, json_t *object, const char *what,
                       double energy)
{
    if (v->quantity->name == NULL)
        return;
    char *name = strcmp(v->quantity->name, "energy") == 0
                     ? mem_printf("%senergy_J", what)
                     : mem_printf("%s%s", what, v->quantity->name);
    set(object, name, json_of_real(energy));
    free(name);
}

static void set_cost(const struct callgraph_view *v, json_t *object, const struct call_cost *self,
                     const struct call_cost *children)
{
    set(object, "self_s", json_of_real(self->time));
    set(object, "children_s", json_of_real(children->time));
    set_energy(v, object, "self_", self->energy);
    set_energy(v, object, "children_", children->energy);
}

static void set_name(json_t *object, const struct call_node *node)
{
    set(object, "index", json_integer(node->index));
    if (node->binary[0] != '\0')
        set(object, "binary", json_of_text(node->binary));
    set(object, "function", json_of_text(node->function));
    set(object, "cycle", node->cycle != 0 ? json_integer(node->cycle) : json_null());
}

static json_t *arc_value(const struct callgraph_view *v, const struct call_arc *arc,
                         const struct call_node *other)
{
    json_t *object = json_object();
    set_name(object, other);
    set(object, "calls", json_of_count(arc->count));
    set(object, "of",
        arc->inside
            ? json_null()
            : json_of_count(callgraph_whole(v->graph, &v->graph->nodes[arc->callee])->calls));
    set_cost(v, object, &arc->self, &arc->children);
    return object;
}

static json_t *arcs_value(const struct callgraph_view *v, const struct call_node *node,
                          bool callers)
{
    json_t *array = json_array();
    uint32_t *arcs = callgraph_arcs(v->graph, node, callers);
    uint32_t count = callers ? node->caller_count : node->callee_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct call_arc *arc = &v->graph->arcs[arcs[i]];
        if (arc->caller != arc->callee)
            json_array_append_new(
                array, arc_value(v, arc, &v->graph->nodes[callers ? arc->caller : arc->callee]));
    }
    free(arcs);
    return array;
}

static json_t *node_value(const struct callgraph_view *v, const struct call_node *node)
{
    json_t *object = json_object();
    set_name(object, node);
    set(object, "share", json_of_real(callgraph_share(v->graph, node)));
    set_cost(v, object, &node->self, &node->children);
    set(object, "calls", json_of_count(node->calls));
    set(object, "recursive_calls", json_of_count(node->recursive));
    return object;
}

static json_t *function_value(const struct callgraph_view *v, const struct call_node *node)
{
    json_t *object = node_value(v, node);
    set(object, "callers", arcs_value(v, node, true));
    set(object, "callees", arcs_value(v, node, false));
    return object;
}

static json_t *cycle_value(const struct callgraph_view *v, const struct call_node *cycle)
{
    json_t *object = node_value(v, cycle), *members = json_array();
    json_object_del(object, "function");
    const uint32_t *member = v->graph->members + cycle->first_member;
    for (uint32_t i = 0; i < cycle->member_count; i++)
        json_array_append_new(members, json_integer(v->graph->nodes[member[i]].index));
    set(object, "members", members);
    return object;
}

static void put_nodes(const struct callgraph_view *v, struct output *out, bool cycles)
{
    const struct callgraph *g = v->graph;
    const char *between = "\n";
    for (uint32_t i = 0; i < g->function_count + g->cycle_count; i++) {
        const struct call_node *node = &g->nodes[g->order[i]];
        if (!v->shown[g->order[i]] || (g->order[i] >= g->function_count) != cycles)
            continue;
        output_printf(out, "%s", between);
        json_write(out, cycles ? cycle_value(v, node) : function_value(v, node));
        between = ",\n";
    }
}

static json_t *facts(const struct callgraph_view *v)
{
    json_t *object = json_object();
    set(object, "name", json_of_text(v->meta->name));
    set(object, "target", json_of_text(v->meta->target));
    set(object, "dialect", json_of_text(v->meta->dialect));
    set(object, "time_s", json_of_real(v->graph->total.time));
    set_energy(v, object, "", v->graph->total.energy);
    return object;
}

void callgraph_json(const struct callgraph_view *v, struct output *out)
{
    json_begin();
    output_printf(out, "{\"profile\":");
    json_write(out, facts(v));
    output_printf(out, ",\n\"functions\":[");
    put_nodes(v, out, false);
    output_printf(out, "],\n\"cycles\":[");
    put_nodes(v, out, true);
    output_printf(out, "]}\n");
}
