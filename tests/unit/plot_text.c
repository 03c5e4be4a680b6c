/* Names and numbers in pictures.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "plot/gnuplot.h"
#include "plot/text.h"

static void values_with_prefixes(struct check *check)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {0, "J", "0 J"},
        {20.024, "J", "20.0 J"},
        {0.0123, "J", "12.3 mJ"},
        {9.996, "W", "10.0 W"},
        {999.96, "mystery", "1000 mystery"},
        {0.9999, "J", "1.00 J"},
        {1234.5, "J", "1.23 kJ"},
        {7200, "s", "7200 s"},
        {4.2e-5, "s", "42.0 us"},
        {-0.5, "J", "-500 mJ"},
        {123, "", "123"},
        {99.97, "%", "100 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = text_value(cases[i].value, cases[i].unit);
        CHECK_STR(text, cases[i].text);
        free(text);
    }
}

static void names_are_shortened_in_the_middle(struct check *check)
{
    char *text = text_fit("abcdefghijklmnopqrstuvwxyz", 10, true, NULL);
    CHECK_STR(text, "abcd..wxyz");
    free(text);
    text = text_fit("short", 10, true, NULL);
    CHECK_STR(text, "short");
    free(text);
    /* characters are not divided */
    text = text_fit("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4, true, NULL);
    CHECK_STR(text, "\xc3\xa4..\xc3\xa4");
    free(text);
    text = text_fit("a\nb\xff", 100, false, NULL);
    CHECK_STR(text, "a\\x0ab\\xff");
    free(text);
    text = text_fit_name("std::sort<A, B>(A, B) const", 18, true, NULL);
    CHECK_STR(text, "std::sort<...>");
    free(text);
    text = text_fit_name("std::mine::sort<A, B>(A, B) const", 15, true, NULL);
    CHECK_STR(text, "...sort<...>");
    free(text);
    text = text_fit_name("std::a_long_name<A, B>(A, B) const", 14, true, NULL);
    CHECK_STR(text, "a_long_name");
    free(text);
    text = text_fit_name("std::mine::sort<A, B>(A, B) const [before]", 24, true, NULL);
    CHECK_STR(text, "...sort<...> [before]");
    free(text);
    text = text_fit_name("f(int, long) [clone .isra.0]", 9, true, NULL);
    CHECK_STR(text, "f");
    free(text);
    text = text_fit_name("std::__detail::__to_chars_10_impl<A, B>(A, B)", 12, true, NULL);
    CHECK_STR(text, "__to_.._impl");
    free(text);
    for (double width = -3; width < 12; width += 0.5) {
        text = text_fit("the quick brown fox", width, false, NULL);
        CHECK(width < 1 || text_width(text, false) <= width);
        free(text);
    }
}

static void scales(struct check *check)
{
    struct scale scale = scale_for(0.0021, "W");
    CHECK_STR(scale.unit, "mW");
    CHECK(scale.factor == 1e-3);
    CHECK_STR(scale_for(INFINITY, "W").unit, "W");
    CHECK_STR(scale_for(0, "W").unit, "W");
    CHECK_STR(scale_for(1e9, "s").unit, "s");
    CHECK_STR(scale_for(1e9, "V s").unit, "V s");
}

/* A text must not contain anything that gnuplot would take for its end. */
static void quotes(struct check *check)
{
    struct script script = {0};
    script_quote(&script, "it''s `x` \"y\" \\ \n");
    buffer_u8(&script.text, 0);
    CHECK_STR((const char *)script.text.data, "'it'.\"\\047\\047\".'s `x` \"y\" \\ \\x0a'");
    script_free(&script);
}

CHECK_MAIN({"values_with_prefixes", values_with_prefixes},
           {"names_are_shortened_in_the_middle", names_are_shortened_in_the_middle},
           {"scales", scales}, {"quotes", quotes})
