// Lengths, kinds and bytes of messages, whatever is in them.

#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/sandbox/lies.h"

namespace foretell::lies {
namespace {

constexpr Row kRows[] = {
    {"length -1", kTrace, [](Lie& lie) { lie.Header(0, -1); }},
    {"length 2^62", kTrace, [](Lie& l) { l.Header(0, INT64_MAX / 2 + 1); }},
    {"length 65 MiB", kTrace, [](Lie& l) { l.Header(0, 65 * kMega); }},
    {"length 20 MiB, no more", kTrace,
     [](Lie& lie) { lie.Header(0, 20 * kMega); }},
    {"length one short", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()) - 1);
       lie.Raw(lie.body());
     }},
    {"length one long", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()) + 1);
       lie.Raw(lie.body());
     }},
    {"kind -1", kTrace, [](Lie& lie) { lie.Frame(-1, "x"); }},
    {"kind 5", kTrace, [](Lie& lie) { lie.Frame(5, "x"); }},
    {"kind 127", kDescription, [](Lie& lie) { lie.Frame(127, "x"); }},
    {"error that steers", kTrace, [](Lie& l) { l.Frame(1, kSteering); }},
    {"error of 4 KB that steers", kDescription,
     [](Lie& lie) {
       lie.Header(1, 4096);
       lie.Fill("\x1b[31m\n", 4096);
     }},
    {"error of 200 MB", kTrace,
     [](Lie& lie) {
       lie.Header(1, 200 * kMega);
       lie.Fill("e", 200 * kMega);
     }},
    {"error of no memory", kTrace,
     [](Lie& lie) { lie.Frame(1, "std::bad_alloc"); }},
    {"byte by byte", kTrace,
     [](Lie& lie) {
       for (const char byte : lie.frame()) lie.Byte(byte);
     }},
    {"byte by byte, for ever", kTrace,
     [](Lie& lie) {
       lie.Header(0, 20 * kMega);
       for (std::int64_t i = 0; i < 20 * kMega; ++i) {
         lie.Byte('x');
         poll(nullptr, 0, 1);
       }
     }},
    {"the answer twice", kDescription,
     [](Lie& lie) {
       lie.Raw(lie.frame());
       lie.Raw(lie.frame());
     }},
    {"10,000 answers", kTrace,
     [](Lie& lie) {
       for (int i = 0; i < 10'000; ++i) lie.Raw(lie.frame());
     }},
    {"nothing", kTrace, [](Lie& lie) { lie.Frame(0, ""); }},
    {"silence", kDescription, [](Lie&) { Wait(); }},
    {"abort", kTrace, [](Lie&) { std::abort(); }},
    {"exit 0", kTrace, [](Lie&) { _exit(0); }},
    {"half, then exit", kTrace,
     [](Lie& lie) {
       lie.Raw(lie.frame().substr(0, lie.frame().size() / 2));
       _exit(0);
     }},
    {"zeros", kDescription,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()));
       lie.Fill(std::string_view("\0", 1), std::ssize(lie.body()));
     }},
    {"ones", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()));
       lie.Fill("\xff", std::ssize(lie.body()));
     }},
    {"20 MB of zeros", kDescription,
     [](Lie& lie) {
       lie.Header(0, 20 * kMega);
       lie.Fill(std::string_view("\0", 1), 20 * kMega);
     }},
    {"1 GB of zeros", kTrace,
     [](Lie& lie) {
       lie.Header(0, 1024 * kMega);
       lie.Fill(std::string_view("\0", 1), 1024 * kMega);
     }},
    {"trailing bytes", kTrace,
     [](Lie& lie) { lie.Frame(0, std::string(lie.body()) + "more"); }},
};

}  // namespace

std::span<const Row> LiesOfFrames() { return kRows; }

}  // namespace foretell::lies
