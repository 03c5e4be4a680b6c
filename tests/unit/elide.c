/* Shorter forms of names. The expected ones were written by hand, from names that c++filt and
 * rustfilt print.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/elide.h"

static const char sort[] =
    "void std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int, "
    "std::allocator<int> > >, long, "
    "__gnu_cxx::__ops::_Iter_less_iter>(__gnu_cxx::__normal_iterator<int*, std::vector<int, "
    "std::allocator<int> > >, "
    "__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, long, "
    "__gnu_cxx::__ops::_Iter_less_iter)";

static void check_steps(struct check *check, const char *name, const char *const want[ELIDE_STEPS])
{
    for (int step = 0; step < ELIDE_STEPS; step++) {
        char *got = elide_arguments(name, (enum elide_step)step);
        CHECK_STR(got, want[step]);
        free(got);
    }
}

static void steps_of_a_template(struct check *check)
{
    static const char *const want[ELIDE_STEPS] = {
        sort,
        "void std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int, "
        "std::allocator<int> > >, "
        "long, __gnu_cxx::__ops::_Iter_less_iter>(...)",
        "void std::__introsort_loop<__gnu_cxx::__normal_iterator<...>, long, "
        "__gnu_cxx::__ops::_Iter_less_iter>(...)",
        "void std::__introsort_loop<...>(...)",
        "std::__introsort_loop<...>",
    };
    check_steps(check, sort, want);
}

/* A declarator around the name stays in every step. */
static void steps_of_a_declarator(struct check *check)
{
    static const char name[] = "int (*(*ns::C<true>::two<double>(double, long))(char*))(long)";
    static const char *const want[ELIDE_STEPS] = {
        name,
        "int (*(*ns::C<true>::two<double>(...))(char*))(long)",
        "int (*(*ns::C<true>::two<double>(...))(...))(...)",
        "int (*(*ns::C<...>::two<...>(...))(...))(...)",
        "ns::C<...>::two<...>",
    };
    check_steps(check, name, want);
    char *plain = elide_parameters(name);
    CHECK_STR(plain, "ns::C<true>::two<double>");
    free(plain);
}

/* The shortest form of each name without cutting it. */
static void names_of_many_kinds(struct check *check)
{
    static const char *const names[][2] = {
        {"main", "main"},
        {"f(int)", "f"},
        {"operator new(unsigned long)", "operator new"},
        {"bool operator< <int>(S<int> const&, S<int> const&)", "operator< <...>"},
        {"S& operator<< <char, long>(S&, char const*)", "operator<< <...>"},
        {"std::ostream::operator<<(int)", "std::ostream::operator<<"},
        {"ns::Ptr<Something>::operator->() const", "ns::Ptr<...>::operator->"},
        {"Functor<long>::operator()(long, long) const", "Functor<...>::operator()"},
        {"(anonymous namespace)::parse(char const*)", "(anonymous namespace)::parse"},
        {"main::{lambda(int, int)#1}::operator()(int, int) const",
         "main::{lambda(...)#1}::operator()"},
        {"non_template [clone .isra.0]", "non_template [clone .isra.0]"},
        {"work(double*) [clone .constprop.0]", "work"},
        {"main.(*Server).Serve", "main.(*Server).Serve"},
        {"<alloc::vec::Vec<T,Global> as core::ops::Drop>::drop",
         "<alloc::vec::Vec<...> as core::ops::Drop>::drop"},
        {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
         "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
        {"a < b", "a < b"},
        {"(sd-pam)", "(sd-pam)"},
        {"decltype ((a)->b) get<Thing>(Thing&)", "get<...>"},
        {"f<(a>", "f<(a>"},
        {"int (*alpha<1>(int))(int)", "alpha<...>"},
        {"int (*alpha<1>(int))(int) [clone .cold]", "alpha<...>"},
        {"int (&beta<2>(int)) [3]", "beta<...>"},
        {"signed char (&&rows<1>()) [3][4]", "rows<...>"},
        {"int (*(*C<true>::two<double>(double))(char))(int)", "C<...>::two<...>"},
        {"void (*(anonymous namespace)::anon<int>(int))()", "(anonymous namespace)::anon<...>"},
        {"int (X<long>::*C<1>::member<int>(int (*)(long)) const)(char)", "C<...>::member<...>"},
        {"int (&main::{lambda(auto:1)#2}::operator()<int>(int) const) [2]",
         "main::{lambda(...)#2}::operator()<...>"},
        {"void std::call<int (*)(int)>(int (*)(int))", "std::call<...>"},
        {"C<true>::operator int (*)(int)<long>()", "C<...>::operator int (...)(...)<...>"},
        {"void gt<long>(C<((sizeof (long))>(4))>)", "gt<...>"},
        {"decltype (({parm#1}>(1))) gr<int>(int)", "gr<...>"},
        {"decltype ({parm#1}>>(1)) sh<int>(int)", "sh<...>"},
        {"C<(sizeof (int))<(4)> lt<int>(int)", "lt<...>"},
        {"void le<int>(C<(sizeof (int))<=(4)>, C<(sizeof (int))>=(4)>)", "le<...>"},
        {"decltype ({parm#1}<{parm#2}) pair<int>(int, int)", "pair<...>"},
        {"void shift<C<(sizeof (long))>>(1)> >(int)", "shift<...>"},
        {"void shift<C<(sizeof (long))<<(1)> >(int)", "shift<...>"},
        {"f<g<void (*)(int)>>(int)", "f<...>"},
        {"F<long>::operator()<(Color)1>(int) const", "F<...>::operator()<...>"},
        {"<<T as A>::B as C<D>>::d", "<<...>::B as C<...>>::d"},
        {"f<1>::g<T, 2>", "f<...>::g<...>"},
        {"A<1>::B<2>::C<3>", "A<...>::B<...>::C<...>"}, /* longer than the name itself */
        {"", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *got = elide_arguments(names[i][0], ELIDE_SIGNATURE);
        CHECK_STR(got, names[i][1]);
        free(got);
    }
}

static void just_as_much_as_needed(struct check *check)
{
    char *got = elide(sort, strlen(sort));
    CHECK_STR(got, sort);
    free(got);
    got = elide(sort, 40);
    CHECK_STR(got, "void std::__introsort_loop<...>(...)");
    free(got);
    got = elide(sort, 30);
    CHECK_STR(got, "std::__introsort_loop<...>");
    free(got);
    got = elide(sort, 13);
    CHECK_STR(got, "__int..._loop");
    free(got);
    got = elide("a_long_name_of_a_function", 10);
    CHECK_STR(got, "a_l...tion");
    free(got);
    got = elide("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xb6\xc3\xb6\xc3\xb6", 5);
    CHECK_STR(got, "\xc3\xa4...\xc3\xb6");
    free(got);
    got = elide("name", 2);
    CHECK_STR(got, "..");
    free(got);
}

/* Outer scopes are removed before the name is cut, unless little would be left. */
static void scopes(struct check *check)
{
    static const char construct[] = "std::__cxx11::basic_string<char, std::char_traits<char>, "
                                    "std::allocator<char> >::_M_construct(unsigned long, char)";
    static const struct {
        const char *name, *want;
        size_t width;
    } cases[] = {
        {construct, "std::__cxx11::basic_string<...>::_M_construct", 45},
        {construct, "...basic_string<...>::_M_construct", 36},
        {construct, "std::__cxx...M_construct", 24}, /* "..._M_construct" would be much shorter */
        {construct, "..._M_construct", 15},
        {"std::thread::_State_impl<std::tuple<int> >::_M_run()",
         "...thread::_State_impl<...>::_M_run", 35},
        {"void std::__unguarded_linear_insert<int*>(int*)", "__unguard...ear_insert", 22},
        {"<alloc::vec::Vec<T,Global> as core::ops::Drop>::drop", "<alloc::ve...rop>::drop", 23},
        {"main::{lambda(auto:1&, auto:2&)#1}::operator()<A, B>(A&, B&)",
         "main::{lambda(...:operator()<...>", 34},
        {"(anonymous namespace)::parse(char const*)", "...parse", 8},
        {"std::ostream::operator<<(int)", "...ostream::operator<<", 22},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *got = elide(cases[i].name, cases[i].width);
        CHECK_STR(got, cases[i].want);
        free(got);
    }
}

static void functions_alone(struct check *check)
{
    static const char *const cases[][2] = {
        {sort, "__introsort_loop"},
        {"std::__cxx11::basic_string<char, A, B>::_M_construct(unsigned long, char)",
         "_M_construct"},
        {"(anonymous namespace)::parse(char const*)", "parse"},
        {"std::ostream::operator<<(int)", "operator<<"},
        {"void swap<int>(int&, int&)", "swap<...>"},
        {"main", "main"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *got = elide_function(cases[i][0]);
        CHECK_STR(got, cases[i][1]);
        free(got);
    }
}

/* No text, however malformed, exceeds the requested width or is read beyond its end. */
static void any_width(struct check *check)
{
    static const char *const texts[] = {
        "<<<<",
        "f<<(>>)",
        "operator",
        "operator<",
        "x operator()",
        ">->",
        "{<[(",
        "",
        "(a)(b)(c)",
        "f<aaaaa<bbbbb<ccccc>>>(ddddd(eeeee))",
        "::",
        "::::a::",
        "a::b::<...>",
        "a::operator b::c()",
        "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e::a\xe9\x96\xa2\xe6\x95\xb0<int>(long)"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t width = 0; width < 40; width++) {
            char *got = elide(texts[i], width);
            CHECK(elide_width(got) <= width);
            free(got);
            free(elide_function(texts[i]));
        }
    char deep[1000];
    memset(deep, '<', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    char *got = elide(deep, 20);
    CHECK_EQ(elide_width(got), 20);
    free(got);
}

CHECK_MAIN({"steps_of_a_template", steps_of_a_template},
           {"steps_of_a_declarator", steps_of_a_declarator},
           {"names_of_many_kinds", names_of_many_kinds},
           {"just_as_much_as_needed", just_as_much_as_needed}, {"scopes", scopes},
           {"functions_alone", functions_alone}, {"any_width", any_width})
