/* Texts of a listing.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "analyze/annotate/annotate_text.h"

static void shortens(struct check *check, const char *name, const char *expected)
{
    char *brief = text_short_name(name);
    CHECK_STR(brief, expected);
    free(brief);
}

static void short_names(struct check *check)
{
    shortens(check, "std::map<int, char>::find(int const&)", "std::map<>::find()");
    shortens(check, "a::operator<(b<c>)", "a::operator<()");
    shortens(check, "f(int", "f(int");
    shortens(check, "<usize as core::slice::index::SliceIndex<[T]>>::index",
             "<usize as core::slice::index::SliceIndex<>>::index");
    shortens(check, "<alloc::vec::Vec<u8>>::push::<i32>", "<alloc::vec::Vec<>>::push::<>");
    shortens(check, "<<A<B> as C>::D as E<F>>::g", "<<A<> as C>::D as E<>>::g");
    shortens(check, "<fn() -> T<u8> as Trait>::call", "<fn() -> T<> as Trait>::call");
    shortens(check, "<a", "<a");
}

CHECK_MAIN({"short_names", short_names})
