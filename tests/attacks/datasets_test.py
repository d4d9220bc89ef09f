#!/usr/bin/env python3
"""Hostile datasets and tables.

    datasets_test.py FORETELL_LAB [unittest arguments]

A dataset is SQLite, which a file can make run things; a table is CSV, plain or
gzipped. Each is refused with one line that names it, or read within bounds.
"""

import contextlib
import glob
import gzip
import os
import pathlib
import shutil
import sqlite3
import struct
import sys
import unittest

import bounded_run
import onnx_file

LAB = sys.argv.pop(1)
JOURNAL = bytes.fromhex("d9d505f920a163d7")
PAGE = 4096
LAST_BYTE_LOCKED = 0x40000000  # SQLite leaves the page of it empty.
ODD_NAME = "<img src=q onerror=alert(1)>\x1b[31m,\"=1+1.onnx"
COUNT = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) "

FOREIGN = "that is not part of a dataset"

# What is done to an honest dataset, and a part of the refusal.
SQL = {
    "a view for a table": (
        ["ALTER TABLE labels RENAME TO labels2",
         "CREATE VIEW labels AS SELECT * FROM labels2"], FOREIGN),
    "a view without end": (
        ["ALTER TABLE metadata RENAME TO metadata2",
         "CREATE VIEW metadata AS " + COUNT +
         "SELECT i AS id, 'k' AS key, 'v' AS value, 0 AS crc FROM c"],
        FOREIGN),
    "a trigger that deletes": (
        ["CREATE TRIGGER evil AFTER INSERT ON splits BEGIN "
         "DELETE FROM points; END"], "has a trigger 'evil'"),
    "a trigger without end": (
        ["CREATE TRIGGER evil AFTER INSERT ON splits BEGIN "
         "INSERT INTO metadata(key, value, crc) " + COUNT +
         "SELECT i, i, i FROM c; END"], "has a trigger 'evil'"),
    "a table under another spelling": (
        ["CREATE VIRTUAL TABLE box USING rtree(id, a, b)",
         "PRAGMA writable_schema=ON",
         "UPDATE sqlite_schema SET sql = replace(sql, ' ', '  ') "
         "WHERE name = 'box'"], FOREIGN),
    "a column that is computed": (
        ["ALTER TABLE metadata ADD COLUMN odd TEXT GENERATED ALWAYS AS "
         "(hex(zeroblob(400000000)))"], FOREIGN),
    "an index that is computed": (
        ["CREATE INDEX odd ON points (upper(model))"], FOREIGN),
    "blobs of 120 MB": (["UPDATE blobs SET data = zeroblob(120000000)"],
                        "the checksum does not match"),
    "blobs that say 4e18": (
        ["UPDATE blobs SET raw_bytes = 4000000000000000000"],
        "the checksum does not match"),
    "graphs of 2^62 nodes": (
        ["UPDATE graphs SET num_nodes = 4611686018427387904"],
        "the checksum does not match"),
}

# Text of a table: whether it is refused, and a part of what is said.
HEADER = "model,batch,device,latency_ms\n"
TABLES = {
    "nothing": ("", "an empty table"),
    "an open quote": ('model,batch\n"abc', "a quote is not closed"),
    "NULs": ("model,batch\n\0\0,1\n", "the table has no device"),
    "a column twice": ("model,model\na,b\n", "two columns are named 'model'"),
    "NaN": (HEADER + "ok,1,a100,nan\n", "latency_ms is nan"),
    "a number below 0": (HEADER + "ok,1,a100,-1e308\n", "latency_ms is -1"),
    "a number without end": (HEADER + "ok,1,a100,1e999\n", "is no number"),
    "a million columns": (
        ",".join(f"c{k}" for k in range(1000000)) + "\n" + "1," * 999999 +
        "1\n", "the table has no model"),
    "one gzipped cell of 256 MB": (
        gzip.compress(b"model,batch\n" + b"a" * (1 << 28)), "unpacks to"),
    "30 million gzipped rows": (
        gzip.compress(HEADER.encode() + b"a,1,b,2\n" * 30000000, 1),
        "unpacks to more than 100 times its size"),
    "only a header": (HEADER, None),
    "8 million commas": ("," * 8000000, None),
    "8 million columns of one name": ("a," * 8000000, "two columns are named 'a'"),
    "escapes": ("model,batch,device\n\x1b[31mred\x1b]0;t\x07,1,a100\n",
                "none of its 1 row is of a point of"),
}


def super_journal(dataset, victim):
    """A hot journal that names another file, which SQLite deletes."""
    page = struct.unpack(">H", dataset[16:18])[0]
    page = 65536 if page == 1 else page
    header = JOURNAL + struct.pack(">IIIII", 0, 1234, len(dataset) // page,
                                   512, page)
    name = os.fsencode(victim)
    return (header.ljust(512, b"\0") +
            struct.pack(">I", LAST_BYTE_LOCKED // page + 1) + name +
            struct.pack(">II", len(name), sum(name)) + JOURNAL)


def inner_page(child, cells):
    """A page of a table's tree that leads to one child again and again."""
    page = bytearray(PAGE)
    page[:12] = struct.pack(">BHHHBI", 5, 0, cells, PAGE - 5 * cells, 0, child)
    for k in range(cells):
        at = PAGE - 5 * (k + 1)
        page[at:at + 5] = struct.pack(">IB", child, k + 1)
        page[12 + 2 * k:14 + 2 * k] = struct.pack(">H", at)
    return page


def nested_pages(dataset, root, levels=18, cells=2):
    """The page `root` begins a tree of some pages and 3^18 leaves."""
    dataset = bytearray(dataset)
    place = slice((root - 1) * PAGE, root * PAGE)
    dataset += dataset[place]
    for _ in range(levels - 1):
        dataset += inner_page(len(dataset) // PAGE, cells)
    dataset[place] = inner_page(len(dataset) // PAGE, cells)
    dataset[28:32] = struct.pack(">I", len(dataset) // PAGE)
    return dataset


class DatasetFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = bounded_run.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.shared = pathlib.Path(scratch.name)
        cls.honest = cls.shared / "honest.sqlite"
        cls.generate(cls.shared / "ok.onnx", cls.honest)

    @classmethod
    def generate(cls, model, dataset):
        model.write_bytes(onnx_file.model(
            [onnx_file.node("MatMul", "x w", "y")], [onnx_file.ones("w", 4, 4)],
            [onnx_file.value_info("x", ("batch", 4))]))
        outcome = bounded_run.run(LAB, "dataset", "generate", model, "--batch",
                                  "1,2", "--out", dataset, "-j", "1")
        assert outcome.status == 0, outcome.err

    def setUp(self):
        scratch = bounded_run.scratch()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.path = self.folder / "d.sqlite"
        shutil.copy(self.honest, self.path)

    def dataset(self, *arguments):
        return bounded_run.run(LAB, "dataset", *arguments)

    def check_refused(self, outcome, path, part):
        self.assertIn(outcome.status, (2, 3), outcome.out)
        self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err[:500])
        self.assertIn(str(path), outcome.err)
        self.assertIn(part, outcome.err)

    def execute(self, *statements):
        connection = sqlite3.connect(self.path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def test_an_honest_one_is_read(self):
        self.assertEqual(self.dataset("stats", self.path).status, 0)
        link = self.folder / "link.sqlite"
        link.symlink_to(self.path)
        self.assertEqual(self.dataset("stats", link).status, 0)

    def check_sql(self, name):
        """Nothing of it is exported."""
        statements, part = SQL[name]
        self.execute(*statements)
        outcome = self.dataset("export", self.path, "--out",
                               self.folder / "tables")
        self.check_refused(outcome, self.path, part)

    def test_a_journal_deletes_no_other_file(self):
        victim = self.folder / "victim.txt"
        victim.write_text("precious")
        pathlib.Path(f"{self.path}-journal").write_bytes(
            super_journal(self.path.read_bytes(), victim))
        link = self.folder / "link.sqlite"
        link.symlink_to(self.path)
        for path in (self.path, link):
            for words in (["stats", path], ["split", path, "--kind", "random"]):
                self.check_refused(self.dataset(*words), self.path,
                                   "names a super-journal")
        self.assertEqual(victim.read_text(), "precious")

    def test_what_is_no_dataset(self):
        other = self.folder / "other.sqlite"
        connection = sqlite3.connect(other)
        connection.execute("CREATE TABLE t(a)")
        connection.commit()
        connection.close()
        for path, part in [
                (other, "not a dataset"), (self.folder, "is not a regular file"),
                ("/dev/zero", "is not a regular file"),
                (bounded_run.pipe(self.folder), "is not a regular file"),
                (f"file:{self.path}?mode=memory", "no such dataset")]:
            with self.subTest(path=path):
                self.check_refused(self.dataset("stats", path), path, part)

    def test_damage_is_found(self):
        """Bytes that hold something are changed in one page after another."""
        content = self.path.read_bytes()
        for begin in range(0, len(content), 4096):
            page = content[begin:begin + 4096]
            if not any(page[-64:]):
                continue
            damaged = bytes(byte ^ 0x5a for byte in page[-64:])
            self.path.write_bytes(content[:begin + 4096 - 64] + damaged +
                                  content[begin + 4096:])
            with self.subTest(page=begin // 4096):
                outcome = self.dataset("check", self.path)
                self.assertNotEqual(outcome.status, 0, outcome.out)

    def test_pages_that_contain_each_other(self):
        """Rows without end: found at once, or within some work."""
        for table in ("points", "blobs", "metadata"):
            shutil.copy(self.honest, self.path)
            last = 1 << 62
            self.execute(f"UPDATE {table} SET id = {last} WHERE id = 2")
            with contextlib.closing(sqlite3.connect(self.path)) as connection:
                root, = connection.execute(
                    "SELECT rootpage FROM sqlite_schema WHERE name = ?",
                    (table,)).fetchone()
            self.path.write_bytes(nested_pages(self.path.read_bytes(), root))
            with self.subTest(table=table):
                self.check_refused(self.dataset("stats", self.path), self.path,
                                   "the file is damaged")
                outcome = self.dataset("check", self.path)
                self.assertEqual(outcome.status, 3, outcome.err)
                self.dataset("merge", self.path, "--salvage", "--out",
                             self.folder / f"{table}.sqlite")

    def test_odd_names_stay_text(self):
        odd = self.folder / "odd.sqlite"
        self.generate(self.folder / ODD_NAME.replace("/", ""), odd)
        page = self.folder / "page.html"
        tables = self.folder / "tables"
        self.assertEqual(
            self.dataset("stats", odd, "--html", page).status, 0)
        self.assertEqual(
            self.dataset("export", odd, "--out", tables).status, 0)
        self.assertNotIn(b"<img", page.read_bytes())
        written = glob.glob(f"{tables}/*.csv")
        self.assertTrue(written)
        names = page.read_text().split("<script nonce", 1)[0]
        page.write_text(names)  # Without the libraries, which have a few.
        for path in [page, *written]:
            content = pathlib.Path(path).read_bytes()
            self.assertEqual(bounded_run.steering(content.decode()), set())
            if path != page:
                for line in content.splitlines():
                    self.assertNotIn(line[:1], (b"=", b"+", b"@", b"-"))

    def import_table(self, path):
        return self.dataset("import", path, "--into", self.path, "--source",
                            "evil")

    def check_table(self, name):
        content, part = TABLES[name]
        path = self.folder / "table.csv"
        path.write_bytes(content if isinstance(content, bytes)
                         else content.encode())
        outcome = self.import_table(path)
        if part is None:
            self.assertEqual(outcome.status, 0, outcome.err)
        else:
            self.check_refused(outcome, path, part)

    def test_tables_that_are_no_files(self):
        for path in (bounded_run.pipe(self.folder), "/dev/zero", self.folder):
            with self.subTest(path=path):
                self.check_refused(self.import_table(path), path,
                                   "expected a regular file")


bounded_run.add_cases(DatasetFiles, "dataset_with_", SQL, "check_sql")
bounded_run.add_cases(DatasetFiles, "table_with_", TABLES, "check_table")

if __name__ == "__main__":
    unittest.main()
