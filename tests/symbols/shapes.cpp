// Names of C++: templates, lambdas, namespaces, local classes, exceptions (cold parts).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes
{
namespace
{
struct Hidden {
    int operator()(int a, int b) const
    {
        return a > b ? a - b : throw std::runtime_error("hidden");
    }
};
} // namespace

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

template <typename T, int N> struct Box : Shape {
    T side;
    explicit Box(T s) : side(s)
    {
    }
    double area() const override
    {
        double a = 1;
        for (int i = 0; i < N; i++)
            a *= static_cast<double>(side);
        if (a < 0)
            throw std::out_of_range("negative " + std::to_string(a));
        return a;
    }
};

template <typename F>
__attribute__((noinline)) double apply(const std::vector<std::unique_ptr<Shape>> &v, F f)
{
    double sum = 0;
    for (const auto &s : v)
        sum += f(*s);
    return sum;
}
} // namespace shapes

__attribute__((noinline)) static int local(int x)
{
    struct Inner {
        int v;
        __attribute__((noinline)) int get() const
        {
            return v * 3;
        }
        static __attribute__((noinline)) int make(int y)
        {
            return Inner{y}.get() + 1;
        }
    };
    return Inner::make(x) + Inner{x}.get();
}

int main(int argc, char **argv)
{
    std::vector<std::unique_ptr<shapes::Shape>> v;
    v.emplace_back(new shapes::Box<int, 2>(argc));
    v.emplace_back(new shapes::Box<double, 3>(argc * 0.5));
    std::map<std::string, int> names;
    for (int i = 0; i < argc; i++)
        names[argv[i]]++;
    double scale = argc;
    try {
        double sum = shapes::apply(v, [&](const shapes::Shape &s) { return s.area() * scale; });
        std::function<int(int)> g = [argc](int x) { return shapes::Hidden()(x, argc); };
        std::vector<int> order{3, 1, 2, g(10)};
        std::sort(order.begin(), order.end(), [](int a, int b) { return a % 7 < b % 7; });
        std::printf("%g %d %zu %d\n", sum, local(argc), names.size(), order[0]);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
