/* Functions that hooks have to recognise or leave alone, by their names.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/special.h"

#include <string.h>

#include "record/funcmeter/shared.h"

static const struct special_function special[] = {
    {"Unwind_RaiseException", METER_UNWIND, false},
    {"Unwind_Resume", METER_UNWIND, false},
    {"Unwind_Resume_or_Rethrow", METER_UNWIND, false},
    {"Unwind_ForcedUnwind", METER_UNWIND | METER_FORCED, false},
    {"Unwind_Backtrace", METER_UNWIND | METER_BACKTRACE, false},
    {"cxa_begin_catch", METER_CATCH, false},
    {"longjmp", METER_JUMP, false},
    {"siglongjmp", METER_JUMP, false},
    {"longjmp_chk", METER_JUMP, false},
    {"libc_longjmp", METER_JUMP, false},
    {"libc_siglongjmp", METER_JUMP, false},
    {"dl_debug_state", METER_LOADED, true},
    {"setjmp", 0, false},
    {"sigsetjmp", 0, false},
    {"vfork", 0, false},
    {"libc_vfork", 0, false},
    {"clone", 0, false},
    {"clone3", 0, false},
    {"clone_internal", 0, false},
    {"getcontext", 0, false},
    {"setcontext", 0, false},
    {"swapcontext", 0, false},
    {"start_context", 0, false},
    {"makecontext", 0, false},
    {"morestack", 0, false},
    {"dlopen", 0, false},
    {"dlmopen", 0, false},
    {"dlsym", 0, false},
    {"dlvsym", 0, false},
    {"mcount", 0, false},
    {"fentry__", 0, false},
    {"dl_runtime_resolve", 0, false},
    {"dl_runtime_resolve_fxsave", 0, false},
    {"dl_runtime_resolve_xsave", 0, false},
    {"dl_runtime_resolve_xsavec", 0, false},
    {"dl_runtime_profile_sse", 0, false},
    {"dl_runtime_profile_avx", 0, false},
    {"dl_runtime_profile_avx512", 0, false},
};
const struct special_function *special_find(const char *name)
{
    name += strspn(name, "_");
    size_t length = strcspn(name, "@");
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strncmp(special[i].name, name, length) == 0 && special[i].name[length] == '\0')
            return &special[i];
    return NULL;
}

bool special_is_fragment(const char *name)
{
    static const char suffix[] = ".cold";
    for (const char *at = name; (at = strstr(at, suffix)) != NULL; at++)
        if (at[sizeof suffix - 1] == '\0' || at[sizeof suffix - 1] == '.')
            return true;
    return false;
}

/* Returns whether the code of V8 calls the function NAME. */
static bool is_called_by_v8(const char *name)
{
    return strncmp(name, "_ZN2v8", strlen("_ZN2v8")) == 0 &&
           (strstr(name, "Builtin_") != NULL || strstr(name, "Runtime_") != NULL);
}

static bool is_callback_of_v8(const char *name)
{
    return strstr(name, "v820FunctionCallbackInfo") != NULL ||
           strstr(name, "v820PropertyCallbackInfo") != NULL;
}

bool special_has_v8_frame(const char *name)
{
    return is_called_by_v8(name) || is_callback_of_v8(name);
}

bool special_is_copied(const char *name)
{
    static const char prefix[] = "Builtins_"; /* of functions of V8 */
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}
