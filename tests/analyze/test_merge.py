"""Sums merge exactly: in any order and grouping, by any number of workers, to the same bytes.

SPDX-License-Identifier: MIT
"""
import itertools
import json
import os
import random
import resource
import subprocess
import unittest
from fractions import Fraction as F

import pbin
import profiles
import sums
import test_aggregate
import tool

MEMORY = 64 * tool.MB


class MergeCase(test_aggregate.TableCase):
    def setUp(self):
        super().setUp()
        self.made_files = 0

    def new(self):
        self.made_files += 1
        return f"{self.folder}/sum-{self.made_files}.pbin"

    def sum(self, inputs, *argv, rng=None):
        """A pbin of the sums over INPUTS, passed in one of the possible ways."""
        out = self.new()
        command = ["pbin-aggregate", "-q", *argv, "-o", out]
        way = rng.randrange(4) if rng else 0
        command += ["-j", str(rng.randrange(1, 5))] if rng else []
        if way < 2:
            self.succeeds(command + list(inputs))
        elif way == 2:
            self.succeeds(command + ["--files-from", "-"], stdin="\n".join(inputs).encode() + b"\n" * rng.randrange(2))
        else:
            self.succeeds(command + ["--files-from", "-", "-0"],
                          stdin="\0".join(inputs).encode() + b"\0" * rng.randrange(2))
        return out

    def tree(self, inputs, rng, *argv):
        """Forms random groups, sums each, and repeats this with the sums."""
        inputs = list(inputs)
        while len(inputs) > 1:
            rng.shuffle(inputs)
            size = rng.randrange(1, len(inputs) + 1)
            inputs[:size] = [self.sum(inputs[:size], *argv, rng=rng)]
        return self.sum(inputs, *argv, rng=rng)

    def content(self, path):
        with open(path, "rb") as f:
            return f.read()

    def csv(self, *argv):
        return self.succeeds(["pbin-aggregate", "-q", "--format", "csv", *argv]).out

    def check_trees(self, inputs, argv, seed, trees=3):
        rng = random.Random(seed)
        at_once = self.content(self.sum(inputs, *argv))
        table = self.csv(*argv, *inputs)
        for _ in range(trees):
            root = self.tree(inputs, rng, *argv)
            self.assertEqual(self.content(root), at_once, "other bytes than at once")
            self.assertEqual(self.csv(*argv, root), table)
        return pbin.read(at_once)


class Trees(MergeCase):
    KEYS = ("binary,function", "thread,function,line", "pc", "comm,inline", "line", "process,file,binary")

    def test_random_trees(self):
        rng = random.Random(200)
        for number in range(12):
            meta = rng.choice(({}, {"cpu_time": 0}, {"times": 0}, {"pmu": pbin.CURRENT, "volts": 3.3, "unit": "A"}))
            count = rng.randrange(3, 13)
            inputs = [self.profile(f"in{number}-{i}.pbin", profiles.make(
                rng.randrange(10**6), samples=rng.randrange(1, 60), threads=4, locations=20,
                name=f"n{rng.randrange(3)}", **meta)) for i in range(count)]
            keys, mode = rng.choice(self.KEYS), rng.choice(("mean", "add"))
            with self.subTest(number=number, keys=keys, mode=mode, count=count, meta=meta):
                root = self.check_trees(inputs, ["-k", keys, "--mode", mode], number)
                self.assertEqual(len(root.runs), 1 if mode == "add" else count)

    def test_profiles_that_differ_in_everything_that_may(self):
        """Volts, units, targets, commands, CPUs: the result does not depend on the order."""
        rng = random.Random(201)
        kinds = [dict(pmu=pbin.POWER, unit="W"), dict(pmu=pbin.CURRENT, volts=5.0, unit="A"),
                 dict(pmu=pbin.CURRENT, volts=12.0, unit="A"), dict(pmu=pbin.POWER, unit="")]
        for mode in ("mean", "add"):
            for few in (kinds, kinds[1:3], kinds[:1] + kinds[3:]):
                inputs = []
                for i in range(8):
                    fields = dict(rng.choice(few), target=rng.choice(("app", "app", "other", "")),
                                  command=rng.choice(("a", "b")), cpus=rng.choice((0, 2, 4)),
                                  frequency=rng.choice((0, 1000)), cpu_time=rng.choice((0, 1)),
                                  times=rng.choice((0, 1)), host=rng.choice(("", "h")))
                    inputs.append(self.profile(f"{i}.pbin", profiles.make(210 + i, samples=20, **fields)))
                with self.subTest(mode=mode, kinds=few):
                    self.check_trees(inputs, ["--mode", mode], 1)

    def test_energy_of_kinds_that_mix(self):
        """Each profile's currents are multiplied by its own volts, in whatever order."""
        made = [profiles.make(220, pmu=pbin.CURRENT, volts=5.0), profiles.make(221, pmu=pbin.CURRENT, volts=12.0),
                profiles.make(222)]
        files = [self.profile(f"{i}.pbin", p) for i, p in enumerate(made)]
        want = sum(sums.total(sums.aggregate(p, sums.Options())[0].rows.values()).energy for p in made)
        for order in itertools.permutations(files):
            self.close(self.table("--mode", "add", *order)["total"]["energy"], want, "energy")

    def test_with_filters(self):
        inputs = [self.profile(f"{i}.pbin", profiles.make(230 + i)) for i in range(5)]
        for keys, argv in (("binary,function", ["--exclude", "function=main"]), ("line", ["--exclude", "line=2"]),
                           ("thread,binary", ["--exclude-external", "--filter", "thread~[0-9]"])):
            with self.subTest(keys=keys):
                filtered = self.csv("-k", keys, *argv, *inputs)
                leaves = [self.sum([i], "-k", keys, *argv) for i in inputs]
                self.assertEqual(self.csv("-k", keys, self.sum(leaves, "-k", keys)), filtered)
                at_once = self.table("-k", keys, *argv, *inputs)["profile"]
                merged = self.table("-k", keys, *leaves)["profile"]
                self.assertEqual((at_once["excluded_time_s"], at_once["excluded_energy_J"]),
                                 (merged["excluded_time_s"], merged["excluded_energy_J"]))

    def test_arcs(self):
        rng, inputs, want = random.Random(202), [], {}
        for i in range(6):
            p = profiles.make(240 + i, samples=10)
            for _ in range(8):
                arc = tuple(rng.choice(("a", "b", "main")) for _ in range(4))
                if arc not in [a[:4] for a in p.arcs]:
                    p.arcs.append((*arc, rng.randrange(1, 10**12)))
            for a in p.arcs:
                want[a[:4]] = want.get(a[:4], 0) + a[4]
            inputs.append(self.profile(f"{i}.pbin", p))
        root = self.check_trees(inputs, [], 2)
        self.assertEqual({a[:4]: a[4] for a in root.arcs}, want)
        self.assertEqual(root.arcs, sorted(root.arcs))


class Content(MergeCase):
    def test_sums_are_exact(self):
        """Every integer in the pbin of sums, which is read by the tests' own reader."""
        made = [profiles.make(250 + i, samples=50) for i in range(4)]
        files = [self.profile(f"{i}.pbin", p) for i, p in enumerate(made)]
        options = sums.Options(("comm", "function", "line"))
        sum_ = pbin.read(self.content(self.sum(files, "-k", ",".join(options.keys))))
        results = [sums.aggregate(p, options)[0] for p in made]
        wanted = sums.mean(results)
        self.assertEqual({r.key for r in sum_.rows}, set(wanted))
        for row in sum_.rows:
            runs = [r.rows[row.key] for r in results if row.key in r.rows]
            times = [r.time * 10**9 for r in runs]
            self.assertEqual((row.samples, row.entries, row.runs),
                             (sum(r.samples for r in runs), sum(r.entries for r in runs), len(runs)))
            self.assertEqual((row.time, row.time_sq, *row.extremes[:2]),
                             (sum(times), sum(t * t for t in times), min(times), max(times)))
            energies = [r.energy for r in runs]
            for got, want in ((row.energy, sum(energies)), (row.energy_sq, sum(e * e for e in energies)),
                              (row.extremes[2], min(energies)), (row.extremes[3], max(energies))):
                self.close(got, want, row.key)
        by_name = {r.name: r for r in sum_.runs}
        for p, result in zip(made, results):
            run, total = by_name[p.meta["name"]], sums.total(result.rows.values())
            self.assertEqual((run.wall_ns, run.latency_ns, run.samples, run.time),
                             (p.meta["wall_ns"], p.meta["latency_ns"], len(p.samples), total.time * 10**9))
            self.close(run.energy, total.energy, run.name)
        self.assertEqual(sum(r.energy for r in sum_.rows), sum(r.energy for r in sum_.runs), "energy is conserved")
        self.assertEqual(sum_.meta["keys"], "comm,function,inline,line")

    def test_own_files_of_sums_are_read(self):
        """A file of sums that is rewritten by the tests' writer is read as the same profile."""
        files = [self.profile(f"{i}.pbin", profiles.make(260 + i)) for i in range(3)]
        path = self.sum(files)
        mine = self.file("mine.pbin", pbin.write(pbin.read(self.content(path))))
        self.assertEqual(self.content(self.sum([mine])), self.content(path))

    def test_rows_of_another_order_of_keys(self):
        file = self.profile("p.pbin", profiles.make(270))
        path = self.sum([file], "-k", "line,function,comm")
        for keys in ("comm,function,line", "function,line,comm"):
            self.assertEqual(self.csv("-k", keys, path), self.csv("-k", keys, file))


class Coarser(MergeCase):
    FINE = ("comm", "binary", "function", "line")

    def test_of_one_run(self):
        made = profiles.make(280, samples=200)
        path = self.sum([self.profile("p.pbin", made)], "-k", ",".join(self.FINE))
        for count in (1, 2, 3):
            for keys in itertools.combinations(self.FINE, count):
                with self.subTest(keys=keys):
                    result, _ = sums.aggregate(made, sums.Options(keys))
                    for row in result.rows.values():
                        row.entries = None  # moving between lines of one function is not an entry
                    self.check_table(self.table("-k", ",".join(keys), path), result, sums.Options(keys))

    def test_of_shards(self):
        files = [self.profile(f"{i}.pbin", profiles.make(281 + i)) for i in range(3)]
        path = self.sum(files, "--mode", "add", "-k", ",".join(self.FINE))
        got, want = self.table("-k", "function", path), self.table("--mode", "add", "-k", "function", *files)
        for row, other in zip(got["rows"] + [got["total"]], want["rows"] + [want["total"]], strict=True):
            self.assertEqual(dict(other, entries=None), row)

    def test_spread_of_runs_each_joined(self):
        """Each file of one run may be joined; the standard deviation is then that of the
        originals."""
        files = [self.profile(f"{i}.pbin", profiles.make(285 + i)) for i in range(4)]
        fine = [self.sum([f], "-k", ",".join(self.FINE)) for f in files]
        got, want = self.table("-k", "function", *fine), self.table("-k", "function", *files)
        for row, other in zip(got["rows"] + [got["total"]], want["rows"] + [want["total"]], strict=True):
            self.assertEqual(dict(other, entries=None), row)

    def test_of_several_runs_is_refused(self):
        files = [self.profile(f"{i}.pbin", profiles.make(290 + i)) for i in range(3)]
        path = self.sum(files, "-k", ",".join(self.FINE))
        ended = self.fails(["pbin-aggregate", "-k", "function", path], path)
        self.assertIn("several runs", ended.err)

    def test_of_several_runs_is_refused_even_when_no_row_is_in_two(self):
        """Otherwise two rows of two runs would become one row of one run."""
        made = [profiles.make(295 + i, samples=20, threads=1) for i in range(2)]
        for i, p in enumerate(made):
            p.samples = [pbin.Sample(n, 1.0, [(0, 0, 10)]) for n in (0, 1000)]
            p.locations = [pbin.Location(1 + i, "app", [pbin.Frame("f", "f", "", 1 + i)])]
        files = [self.profile(f"{i}.pbin", p) for i, p in enumerate(made)]
        path = self.sum(files, "-k", "function,line")
        self.fails(["pbin-aggregate", "-k", "function", path], path)
        self.fails(["pbin-aggregate", "-k", "function,line", "--mode", "add", path], path)

    def test_keys_that_are_not_there(self):
        path = self.sum([self.profile("p.pbin", profiles.make(298))], "-k", "function")
        ended = self.fails(["pbin-aggregate", "-k", "function,line", path], path)
        self.assertIn("line", ended.err)

    def test_selections_that_need_samples(self):
        path = self.sum([self.profile("p.pbin", profiles.make(299))], "-k", "function")
        for argv in (["--start", "0"], ["--end", "1"], ["--phase", "main"], ["--max-gap", "1"], ["--subtract-latency"],
                     ["--wall-time"], ["--energy-model", "sample"], ["--energy-model", "thread"], ["--others", "ignore"],
                     ["--sensor-lag", "0.1"], ["--kernel", "caller"], ["--filter", "line=1"], ["--exclude-external"], ["--exclude", "pc=0x1"]):
            with self.subTest(argv):
                self.fails(["pbin-aggregate", "-k", "function", *argv, path], path)

    def test_filters_on_sums(self):
        made = profiles.make(300)
        path = self.sum([self.profile("p.pbin", made)], "-k", "binary,line")
        for options in (sums.Options(("binary", "line"), exclude=[("line", "=", "[12]")]),
                        sums.Options(("binary", "line"), exclude=[("binary", "~", "^lib")])):
            result, _ = sums.aggregate(made, options)
            table = self.table(*options.argv(), path)
            rows = self.rows_by_key(table, options.keys)
            self.assertEqual(set(rows), set(result.rows))
            for key, row in result.rows.items():
                self.close(rows[key]["time"], row.time, key)
                self.close(rows[key]["energy"], row.energy, key)
            self.close(table["profile"]["excluded_time_s"], result.excluded.time, "excluded")

    def test_external_to_each_profiles_own_target(self):
        """If targets differ, neither -j nor the order changes the result."""
        a, b = profiles.make(301, target="app"), profiles.make(302, target="libc.so.6")
        one, two = (self.sum([self.profile(f"{i}.pbin", p)]) for i, p in enumerate((a, b)))
        tables = {self.csv("--exclude-external", *order) for order in ((one, two), (two, one))}
        self.assertEqual(len(tables), 1)
        self.assertIn(b"app,", tables.pop())


class Attributions(MergeCase):
    """Sums keep the options by which their samples were weighed."""

    WAYS = (["--wall-time"], ["--energy-model", "thread"], ["--others", "ignore"], ["--sensor-lag", "0.25"], ["--kernel", "caller"],
            ["--max-gap", "0.5"], ["--subtract-latency"])

    def setUp(self):
        super().setUp()
        self.full = self.profile("full.pbin", profiles.make(330))
        self.plain = self.sum([self.full], "-k", "function")

    def words(self, path):
        return pbin.read(self.content(path)).meta.get("attribution")

    def test_shown_and_written_again(self):
        text = ["pbin-aggregate", "-q", "-k", "function"]
        wall = self.sum([self.full], "-k", "function", "--wall-time")
        shown = self.succeeds([*text, wall]).out
        self.assertIn(b"\ntime of threads ", shown)
        self.assertEqual(shown, self.succeeds([*text, "--wall-time", self.full]).out)
        self.assertEqual(self.content(self.sum([wall], "-k", "function", "--wall-time")), self.content(wall))
        self.assertIn(b"\nCPU time ", self.succeeds([*text, "--cpu-time", "--energy-model=share", self.plain]).out)
        self.assertEqual(self.words(self.plain), "cpu-time energy-model=share others=split sensor-lag=0 kernel=own")
        self.assertIsNone(self.words(self.full))

    def test_only_the_same_are_added(self):
        for way in self.WAYS:
            with self.subTest(way):
                other = self.sum([self.full], "-k", "function", *way)
                both = self.fails(["pbin-aggregate", "-q", "-k", "function", "-j1", self.full, other], other).err
                self.assertIn(f"with --{'='.join(way)[2:]}, unlike previous profiles", both)
                self.assertEqual(self.words(self.sum([self.full, other], "-k", "function", *way)), self.words(other))
        ended = self.fails(["pbin-aggregate", "-k", "function", "-j2", other, self.plain])
        self.assertRegex(ended.err, r"^pbin-aggregate: \S+/sum-\d+\.pbin: was attributed with(out)? --")

    def test_compared(self):
        wall, thread = (self.sum([self.full], "-k", "function", *way) for way in self.WAYS[:2])
        compare = ["pbin-compare", "-k", "function"]
        self.assertIn("with --wall-time, unlike", self.fails([*compare, self.full, wall], wall).err)
        self.assertIn("unlike", self.fails(["pbin-plot", "compare", "-k", "function", wall, self.plain], self.plain).err)
        self.fails([*compare, "--base", self.plain, thread, "--with", self.full], thread)
        self.fails([*compare, "-q", "--kernel", "caller", self.full, self.plain], self.plain)
        self.fails(["pbin-plot", "bars", "-q", "-k", "function", "--kernel", "caller", self.full, self.plain], self.plain)
        self.assertEqual(self.succeeds([*compare, self.plain, thread]).err,
                         f"pbin-compare: {thread}: was attributed with --energy-model=thread, unlike {self.plain}: the differences "
                         "include those of the attribution\n")

    def test_annotated(self):
        lines = self.sum([self.full], "-k", "function,file,line", "--wall-time")
        self.assertIn(b" of total time of threads", self.succeeds(["pbin-annotate", "-q", lines]).out)
        self.fails(["pbin-annotate", "-q", self.full, lines], lines)
        self.fails(["pbin-annotate", "-q", "--kernel", "caller", lines], lines)

    def test_sums_of_older_versions(self):
        """Older sums do not record options: they can be added to any others, but satisfy no
        option."""
        old = pbin.read(self.content(self.plain))
        del old.meta["attribution"]
        path = self.file("old.pbin", pbin.write(old))
        self.fails(["pbin-aggregate", "-k", "function", "--energy-model", "share", path], path)
        wall = self.sum([self.full], "-k", "function", "--wall-time")
        sums_ = {self.content(self.sum(both, "-k", "function")) for both in ([path, wall], [wall, path])}
        self.assertEqual(pbin.read(sums_.pop()).meta["attribution"], self.words(wall))
        self.assertFalse(sums_)


class Inputs(MergeCase):
    def test_lists(self):
        names = ["a.pbin", " b c.pbin", "new\nline.pbin", "-q.pbin", "é.pbin"]
        for i, name in enumerate(names):
            self.profile(name, profiles.make(310 + i, samples=10))
        want = self.csv(*[os.path.join(self.folder, n) for n in names])
        for jobs in ("1", "3"):
            out = self.succeeds(["pbin-aggregate", "-q", "-j", jobs, "--format", "csv", "-0", "--files-from", "-"],
                                stdin="\0".join(names).encode(), cwd=self.folder).out
            self.assertEqual(out, want)
        lines = [n for n in names if "\n" not in n]
        listed = self.file("list", "\n".join(lines).encode() + b"\n\n")
        got = self.succeeds(["pbin-aggregate", "-q", "--format", "csv", "--files-from", listed], cwd=self.folder).out
        self.assertEqual(got, self.csv(*[os.path.join(self.folder, n) for n in lines]))
        both = self.succeeds(["pbin-aggregate", "-q", "--format", "csv", "-0", "--files-from", "-", "a.pbin"],
                             stdin="\0".join(names[1:]).encode(), cwd=self.folder).out
        self.assertEqual(both, want)

    def test_energy_in_no_row(self):
        """The model `thread` does not attribute the energy of samples without threads: aggregated
        profiles keep it, whatever they are joined with."""
        paths, parts = [], []
        for i in range(2):
            profile = profiles.make(700 + i, samples=60)
            for sample in profile.samples[::3]:
                sample.entries = []
            paths.append(self.profile(f"{i}.pbin", profile))
            parts.append(f"{self.folder}/part{i}.pbin")
            self.succeeds(["pbin-aggregate", "-q", "--energy-model=thread", "-o", parts[-1], paths[-1]])
        for mode in ("mean", "add"):
            tables = [json.loads(self.succeeds(["pbin-aggregate", "-q", "--energy-model=thread", "--format=json", "--mode", mode, *files]).out)
                      for files in (paths, parts, [paths[0], parts[1]])]
            for table in tables:
                self.assertNotEqual(table["profile"]["energy_unattributed_J"], 0)
                for fact in ("energy_J", "power_W", "energy_unattributed_J"):
                    self.assertEqual(table["profile"][fact], tables[0]["profile"][fact])
        filtered = f"{self.folder}/filtered.pbin"
        self.succeeds(["pbin-aggregate", "-q", "--energy-model=thread", "--filter", "function=f0", "-o", filtered, paths[0]])
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--energy-model=thread", "--format=json", filtered]).out)
        self.assertNotIn("energy_unattributed_J", table["profile"])

    def test_bad_lists(self):
        self.fails(["pbin-aggregate", "--files-from", "-"], stdin=b"")
        self.fails(["pbin-aggregate", "--files-from", "-"], stdin=b"\n\n")
        self.fails(["pbin-aggregate", "--files-from", "-"], stdin=b"x" * 100_000)
        self.fails(["pbin-aggregate", "--files-from", "no such list"])

    def test_the_first_bad_input_is_reported(self):
        good = [self.profile(f"{i}.pbin", profiles.make(320 + i, samples=5)) for i in range(6)]
        bad = [self.file(f"bad{i}", b"bad") for i in range(2)]
        for jobs in ("1", "2", "4"):
            for order in ([*good, *bad], [good[0], bad[0], *good[1:], bad[1]], [bad[1], *good]):
                first = next(f for f in order if f in bad)
                with self.subTest(jobs=jobs, first=first):
                    ended = self.fails(["pbin-aggregate", "-q", "-j", jobs, *order])
                    if jobs == "1":
                        self.assertIn(first, ended.err)

    def test_a_thousand_inputs(self):
        """Bounded memory, few open files, and the same result for any number of threads."""
        paths = []
        for i in range(20):
            first = self.profile(f"{i}.pbin", profiles.make(330 + i, samples=1000, locations=200))
            for k in range(tool.rounds(50, 5)):
                paths.append(f"{self.folder}/{i}-{k}")
                os.link(first, paths[-1])
        results = set()
        for jobs in ("1", "4"):
            ended = self.limited(["-q", "-j", jobs, "-k", "thread,pc", "--format", "csv", "--files-from", "-"],
                                 "\n".join(paths).encode())
            results.add(ended.out)
            if not tool.is_asan():
                self.assertLess(ended.peak, MEMORY)
        self.assertEqual(len(results), 1)
        self.assertIn(b",%d\n" % len(paths), results.pop())

    def limited(self, argv, stdin):
        """Runs pbin-aggregate with at most 32 descriptors."""
        old = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, old[1]))
        try:
            return self.succeeds(["pbin-aggregate", *argv], stdin=stdin, timeout=100, peak=True)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, old)


if __name__ == "__main__":
    unittest.main()
