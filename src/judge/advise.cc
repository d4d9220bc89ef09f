#include "foretell/advise.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/judge/remedies.h"

// What would make it fit, by trying.
//
// A remedy's effect depends on the others: after autocast a checkpoint saves
// half as much, and an optimizer's temporaries do not matter where the peak is
// in the backward pass. So no effect is added up: each combination is traced
// and replayed. What keeps the numerics is tried first, alone and combined,
// before another precision or optimizer is recommended. All pairs are tried
// where no single change is enough, of each group the two changes that save
// most; from three changes on the search is greedy, which may miss a smaller
// combination. More GPUs, which not everyone has, are the answer only where
// nothing else is.

namespace foretell {
namespace {

constexpr std::size_t kMostOfAGroup = 2;
constexpr std::size_t kMostCombinations = 3;

/// A change with what it saves alone.
struct Candidate {
  RemedyRow row;
  double saved_mib = 0;
};

class Adviser {
 public:
  Adviser(const AdviceRequest& request, const DeviceSpec& device,
          const SimulateStep& simulate)
      : request_(request), device_(device), simulate_(simulate) {}

  Advice Run() {
    advice_.unchanged = request_.unchanged
                            ? Judged(request_.setup, *request_.unchanged)
                            : Simulate(request_.setup);
    for (const RemedyRow& row : RemediesFor(request_, device_)) TryAlone(row);
    SplitBatch();
    std::ranges::stable_sort(advice_.remedies,
                             [](const Remedy& a, const Remedy& b) {
                               if (a.keeps_numerics != b.keeps_numerics)
                                 return a.keeps_numerics;
                               return a.saved_mib > b.saved_mib;
                             });
    if (!advice_.unchanged.fits && !request_.alone) FindSmallest();
    SortCombinations();
    return std::move(advice_);
  }

 private:
  SimulatedStep Simulate(const StepSetup& setup) const {
    return Judged(setup, simulate_(setup));
  }

  SimulatedStep Judged(const StepSetup& setup,
                       const Prediction& prediction) const {
    const mig::Verdict verdict =
        mig::Judge(ToDemand(prediction), device_, request_.limits.profile);
    return {.memory_mib = verdict.total_mib,
            .needed_mib = verdict.needed_mib,
            // Of accumulated parts the step that was traced has all.
            .latency_ms = verdict.latency_ms *
                          static_cast<double>(setup.run.mode == Mode::kTraining
                                                  ? 1
                                                  : setup.parts),
            .fits = JudgeFit(prediction, device_, request_.limits).fits};
  }

  Remedy Try(const std::vector<RemedyRow>& rows) const {
    Remedy remedy{.setup = request_.setup};
    for (const RemedyRow& row : rows) {
      remedy.names.push_back(row.name);
      remedy.keeps_numerics &= row.keeps_numerics;
      row.apply(remedy.setup);
    }
    const SimulatedStep& unchanged = advice_.unchanged;
    remedy.step = Simulate(remedy.setup);
    remedy.saved_mib = unchanged.needed_mib - remedy.step.needed_mib;
    if (unchanged.latency_ms > 0) {
      remedy.time_factor = remedy.step.latency_ms / unchanged.latency_ms;
    }
    return remedy;
  }

  /// Whether the step fits with that change alone.
  bool TryAlone(const RemedyRow& row) {
    try {
      advice_.remedies.push_back(Try({row}));
      if (!TakesMoreGpus(advice_.remedies.back())) {
        candidates_.push_back({row, advice_.remedies.back().saved_mib});
      }
      return advice_.remedies.back().step.fits;
    } catch (const Error& error) {
      advice_.untried.push_back({row.name, error.what()});
      return false;
    }
  }

  /// Halves the batch until it fits, or a part is odd. Between the first and
  /// the last nothing is listed.
  void SplitBatch() {
    std::vector<std::int64_t> sizes;
    for (std::int64_t parts = 2;
         request_.batch > 0 && request_.batch % parts == 0; parts *= 2) {
      sizes.push_back(parts);
    }
    for (const std::int64_t parts : sizes) {
      const std::size_t before = advice_.remedies.size();
      const bool fits = TryAlone(SplitRemedy(request_, parts));
      const bool is_listed = fits || parts == 2 || parts == sizes.back();
      if (!is_listed && advice_.remedies.size() > before) {
        advice_.remedies.pop_back();
        candidates_.pop_back();
      }
      if (fits) return;
    }
  }

  void Consider(const std::vector<RemedyRow>& rows) {
    try {
      Consider(Try(rows));
    } catch (const Error& error) {
      std::string name = rows.front().name;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        name += " + " + rows[i].name;
      }
      advice_.untried.push_back({std::move(name), error.what()});
    }
  }

  /// Keeps the fastest that fits, and for the greedy search the smallest.
  void Consider(const Remedy& remedy) {
    std::optional<Remedy>& best = advice_.smallest;
    if (remedy.step.fits &&
        (!best || remedy.step.latency_ms < best->step.latency_ms)) {
      best = remedy;
    }
    if (remedy.step.fits && remedy.names.size() > 1) {
      advice_.combinations.push_back(remedy);
    }
    if (!least_ || remedy.step.needed_mib < least_->step.needed_mib) {
      least_ = remedy;
    }
  }

  void SortCombinations() {
    std::vector<Remedy>& all = advice_.combinations;
    std::ranges::stable_sort(
        all, {}, [](const Remedy& one) { return one.step.latency_ms; });
    if (all.size() > kMostCombinations) all.resize(kMostCombinations);
  }

  /// The changes that save, at most kMostOfAGroup of each group.
  static std::vector<Candidate> Strongest(std::vector<Candidate> candidates) {
    std::ranges::stable_sort(candidates, std::ranges::greater(),
                             &Candidate::saved_mib);
    std::vector<Candidate> kept;
    for (Candidate& one : candidates) {
      const auto of_group =
          std::ranges::count_if(kept, [&one](const Candidate& other) {
            return other.row.group == one.row.group;
          });
      if (one.saved_mib > 0 &&
          static_cast<std::size_t>(of_group) < kMostOfAGroup) {
        kept.push_back(std::move(one));
      }
    }
    return kept;
  }

  /// Those that keep the numerics.
  std::vector<Candidate> SafeCandidates() const {
    std::vector<Candidate> safe;
    std::ranges::copy_if(
        candidates_, std::back_inserter(safe),
        [](const Candidate& one) { return one.row.keeps_numerics; });
    return safe;
  }

  bool TakesMoreGpus(const Remedy& remedy) const {
    return remedy.setup.loop.parallel != request_.setup.loop.parallel;
  }

  void FindSmallest() {
    FindSmallestOf(SafeCandidates());
    if (!advice_.smallest) FindSmallestOf(candidates_);
    if (advice_.smallest) return;
    for (const Remedy& remedy : advice_.remedies) {
      if (TakesMoreGpus(remedy)) Consider(remedy);
    }
  }

  /// Among changes on one GPU: single ones, then pairs, then more.
  void FindSmallestOf(const std::vector<Candidate>& candidates) {
    least_.reset();
    for (const Remedy& remedy : advice_.remedies) {
      const bool is_one = std::ranges::any_of(
          candidates, [&remedy](const Candidate& candidate) {
            return candidate.row.name == remedy.names.front();
          });
      if (is_one) Consider(remedy);
    }
    if (advice_.smallest) return;
    const std::vector<Candidate> strong = Strongest(candidates);
    for (std::size_t i = 0; i < strong.size(); ++i) {
      for (std::size_t k = i + 1; k < strong.size(); ++k) {
        if (Exclude(strong[i].row, strong[k].row)) continue;
        Consider({strong[i].row, strong[k].row});
      }
    }
    if (!advice_.smallest) AddGreedily(strong);
  }

  /// Adds to the pair that needs least what lowers it most, one by one.
  void AddGreedily(const std::vector<Candidate>& candidates) {
    while (least_ && !advice_.smallest) {
      const Remedy before = *least_;
      const std::vector<RemedyRow> rows = RowsOf(before, candidates);
      for (const Candidate& one : candidates) {
        const bool is_new = std::ranges::none_of(
            rows,
            [&one](const RemedyRow& row) { return Exclude(row, one.row); });
        if (!is_new) continue;
        std::vector<RemedyRow> more = rows;
        more.push_back(one.row);
        Consider(more);
      }
      if (least_->names.size() == before.names.size()) return;
    }
  }

  static std::vector<RemedyRow> RowsOf(
      const Remedy& remedy, const std::vector<Candidate>& candidates) {
    std::vector<RemedyRow> rows;
    for (const Candidate& one : candidates) {
      if (std::ranges::count(remedy.names, one.row.name) > 0) {
        rows.push_back(one.row);
      }
    }
    return rows;
  }

  const AdviceRequest& request_;
  const DeviceSpec& device_;
  const SimulateStep& simulate_;
  Advice advice_;
  std::vector<Candidate> candidates_;
  std::optional<Remedy> least_;
};

}  // namespace

Advice Advise(const AdviceRequest& request, const DeviceSpec& device,
              const SimulateStep& simulate) {
  return Adviser(request, device, simulate).Run();
}

}  // namespace foretell
