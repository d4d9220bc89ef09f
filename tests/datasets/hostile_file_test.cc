// Dataset files that were made to make SQLite do something.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "datasets/store/sqlite.h"
#include "foretell/dataset.h"
#include "foretell/error.h"
#include "scratch.h"
#include "tests/graph/expect_error.h"
#include "toy.h"

namespace foretell {
namespace {

class HostileFile : public testing::Test {
 protected:
  HostileFile() { Dataset::OpenOrCreate(path_); }

  void Execute(const std::string& sql) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  dataset_test::Scratch scratch_;
  std::string path_ = scratch_ / "data.sqlite";
};

TEST_F(HostileFile, HasNoTriggers) {
  Execute(
      "CREATE TRIGGER bomb AFTER INSERT ON points BEGIN DELETE FROM labels; "
      "END");
  ExpectError([&] { Dataset::OpenOrCreate(path_); }, ErrorCode::kCorrupt,
              "has a trigger 'bomb' that is not part of a dataset");
}

TEST_F(HostileFile, HasNoViews) {
  Execute(
      "ALTER TABLE split_points RENAME TO other; CREATE VIEW split_points AS "
      "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
      "SELECT id FROM n");
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kCorrupt,
              "that is not part of a dataset");
}

TEST_F(HostileFile, HasNoVirtualTables) {
  Execute("CREATE VIRTUAL TABLE box USING rtree(id, a, b)");
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kCorrupt,
              "has a table 'box'");
}

/// However its statement is spelled: SQLite runs what it says.
TEST_F(HostileFile, HasNoVirtualTablesWithBlanks) {
  Execute(
      "CREATE VIRTUAL TABLE box USING rtree(id, a, b); "
      "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = "
      "replace(sql, ' ', '  ') WHERE name = 'box'");
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kCorrupt,
              "that is not part of a dataset");
}

TEST_F(HostileFile, HasNoColumnsThatAreComputed) {
  Execute(
      "ALTER TABLE metadata ADD COLUMN odd TEXT GENERATED ALWAYS AS "
      "(hex(zeroblob(100000000)))");
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kCorrupt,
              "has a table 'metadata' that is not part of a dataset");
}

TEST_F(HostileFile, HasNoIndexesThatAreComputed) {
  Execute("CREATE INDEX odd ON points (upper(model))");
  ExpectError([&] { Dataset::OpenForWriting(path_); }, ErrorCode::kCorrupt,
              "has a index 'odd' that is not part of a dataset");
}

/// Writes the journal of `path` that names a super-journal, `victim`.
void NameSuperJournal(const std::string& path, const std::string& victim) {
  // The end of it: the name, its length, the sum of its bytes, and a magic
  // number (SQLite's pager.c).
  std::string end = victim;
  unsigned sum = 0;
  for (const char c : victim) sum += static_cast<unsigned char>(c);
  for (const unsigned number : {static_cast<unsigned>(victim.size()), sum}) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      end += static_cast<char>(number >> shift);
    }
  }
  end += "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  std::ofstream(path + "-journal", std::ios::binary)
      << "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" << std::string(504, '\0') << end;
}

TEST_F(HostileFile, DeletesNoOtherFile) {
  const std::string victim = scratch_ / "victim.txt";
  std::ofstream(victim) << "precious";
  NameSuperJournal(path_, victim);
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kCorrupt,
              "-journal: names a super-journal");
  EXPECT_TRUE(std::filesystem::exists(victim));
}

/// The journal lies beside the file that a link leads to.
TEST_F(HostileFile, DeletesNoOtherFileBehindALink) {
  const std::string victim = scratch_ / "victim.txt";
  std::ofstream(victim) << "precious";
  NameSuperJournal(path_, victim);
  const std::string link = scratch_ / "link.sqlite";
  std::filesystem::create_symlink(path_, link);
  ExpectError([&] { Dataset::OpenForWriting(link); }, ErrorCode::kCorrupt,
              "-journal: names a super-journal");
  EXPECT_TRUE(std::filesystem::exists(victim));
}

/// Which reading would make two files for, beside it.
TEST_F(HostileFile, HasNoWriteAheadLog) {
  Execute("PRAGMA journal_mode=WAL");
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kUnsupported,
              "data.sqlite: has a write-ahead log");
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-shm"));
}

/// As pages that contain each other would take.
TEST_F(HostileFile, IsNotReadForEver) {
  dataset::Connection connection(path_, dataset::Access::kRead);
  connection.LimitWork();
  EXPECT_EQ(connection.Integer("SELECT count(*) FROM points"), 0);
  ExpectError(
      [&] {
        connection.Run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT sum(i) FROM n");
      },
      ErrorCode::kCorrupt, "interrupted");
}

TEST_F(HostileFile, IsARegularFile) {
  const std::string pipe = scratch_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    ExpectError([&] { Dataset::Open(path); }, ErrorCode::kIo,
                path + ": is not a regular file");
    ExpectError([&] { Dataset::OpenOrCreate(path); }, ErrorCode::kIo,
                path + ": is not a regular file");
  }
}

TEST_F(HostileFile, HasNoPipeForAJournal) {
  ASSERT_EQ(mkfifo((path_ + "-journal").c_str(), 0600), 0);
  ExpectError([&] { Dataset::Open(path_); }, ErrorCode::kIo,
              "-journal: is a named pipe, expected a regular file");
}

/// Reading leaves the file, and the folder that it lies in, as they are.
TEST_F(HostileFile, IsNotWrittenByReading) {
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  const auto before = std::filesystem::last_write_time(path_);
  EXPECT_TRUE(Dataset::Open(path_).Points().empty());
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
}

}  // namespace
}  // namespace foretell
