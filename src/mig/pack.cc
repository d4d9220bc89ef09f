// Packing of many jobs: first-fit decreasing over devices, each device exact.
//
// Jobs are taken by decreasing need and each goes to the first device whose
// jobs, together with it, still have a valid layout; a new device is opened
// if there is none. As every subset of jobs that share a device can share
// it, one device is packed whenever it can be: the search is exact there. For
// several devices it is a heuristic (bin packing is NP-hard), so a lower bound
// comes with it. Where jobs are left over, the smallest are tried first too,
// and the order that places more of them is used: the largest job may be in
// the way of all others. Feasibility depends only on how many jobs of which
// profile set a device holds, and few such multisets exist, so answers are
// remembered.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>

#include "foretell/mig.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/mig/occupancy.h"
#include "src/mig/pack_device.h"

namespace foretell::mig {
namespace {

constexpr std::size_t kMaxJobs = 10'000;

/// Least that an instance for a job uses of a device.
struct Need {
  int compute_slices = 0;
  int memory_slots = 0;
};

/// A job that some profile holds.
struct Candidate {
  const Job* job = nullptr;
  ProfileSet profiles;
  Need need;
};

/// The candidates that share a device, by position.
struct Bin {
  std::vector<std::size_t> members;
  Need need;
};

void CheckArguments(std::span<const Job> jobs, const DeviceSpec& device,
                    const PackOptions& options) {
  if (options.max_devices < 0) {
    throw InvalidArgument("pack: max_devices is {}, expected at least 0",
                          options.max_devices);
  }
  if (jobs.size() > kMaxJobs) {
    throw InvalidArgument("pack: {} jobs are given, expected at most {}",
                          jobs.size(), kMaxJobs);
  }
  for (const Job& job : jobs) {
    if (!std::isfinite(job.needed_mib) || job.needed_mib < 0) {
      throw InvalidArgument(
          "pack: '{}' needs {} MiB, expected a finite number of at least 0",
          job.model, FormatNumber(job.needed_mib, 1));
    }
    for (const std::string& name : job.profiles) device.FindMigProfile(name);
  }
}

/// The verdict of `fits` on the job, whose need is known and nothing else.
Verdict JudgeJob(const Job& job, const DeviceSpec& device,
                 const MigProfile& profile) {
  return Judge({.model = job.model,
                .total_mib = job.needed_mib,
                .lo_mib = job.needed_mib,
                .hi_mib = job.needed_mib,
                .gpus = job.gpus,
                .slices = job.slices},
               device, profile.name);
}

bool IsNamed(const Job& job, const DeviceSpec& device,
             const MigProfile& profile) {
  if (job.profiles.empty()) return true;
  return std::any_of(job.profiles.begin(), job.profiles.end(),
                     [&](const std::string& name) {
                       return device.FindMigProfile(name).name == profile.name;
                     });
}

Candidate MakeCandidate(const Job& job, const DeviceSpec& device,
                        const std::vector<int>& selected) {
  constexpr int kMax = std::numeric_limits<int>::max();
  Candidate candidate{&job, {}, {kMax, kMax}};
  for (const int index : selected) {
    const MigProfile& profile =
        device.mig_profiles[static_cast<std::size_t>(index)];
    if (!IsNamed(job, device, profile)) continue;
    if (!JudgeJob(job, device, profile).fits) continue;
    candidate.profiles.push_back(index);
    Need& need = candidate.need;
    need.compute_slices = std::min(need.compute_slices, profile.compute_slices);
    need.memory_slots = std::min(need.memory_slots, profile.memory_slots);
  }
  return candidate;
}

/// Larger needs first; equal profile sets side by side.
bool ComesFirst(const Candidate& a, const Candidate& b) {
  if (a.need.memory_slots != b.need.memory_slots) {
    return a.need.memory_slots > b.need.memory_slots;
  }
  if (a.need.compute_slices != b.need.compute_slices) {
    return a.need.compute_slices > b.need.compute_slices;
  }
  return a.profiles < b.profiles;
}

std::string WhyNoProfile(const Job& job, const DeviceSpec& device,
                         const std::vector<int>& selected) {
  const MigProfile* largest = nullptr;
  for (const int index : selected) {
    const MigProfile& profile =
        device.mig_profiles[static_cast<std::size_t>(index)];
    if (!IsNamed(job, device, profile)) continue;
    if (largest == nullptr || profile.usable_mib > largest->usable_mib) {
      largest = &profile;
    }
  }
  if (largest == nullptr) {
    return fmt::format(
        "'{}' needs {} MiB, but its profiles are used only with media "
        "extensions",
        job.model, FormatNumber(job.needed_mib, 0));
  }
  return fmt::format(
      "'{}' needs {} MiB, but its largest profile {} has {} MiB", job.model,
      FormatNumber(JudgeJob(job, device, *largest).needed_mib, 0),
      largest->name, largest->usable_mib);
}

class FirstFit {
 public:
  FirstFit(const DeviceSpec& device, const std::vector<Candidate>& candidates,
           int max_devices)
      : device_(device), candidates_(candidates), max_devices_(max_devices) {}

  /// Adds the candidates in their order and lists those without room.
  void AddAll() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!Add(i)) without_room_.push_back(i);
    }
  }

  const std::vector<Bin>& bins() const { return bins_; }
  const std::vector<std::size_t>& without_room() const { return without_room_; }

  std::vector<ProfileSet> SetsOf(const Bin& bin) const {
    std::vector<ProfileSet> sets;
    for (const std::size_t member : bin.members) {
      sets.push_back(candidates_[member].profiles);
    }
    return sets;
  }

 private:
  /// Finds a device for a candidate; false if there is no room.
  bool Add(std::size_t candidate) {
    for (Bin& bin : bins_) {
      if (TryAdd(candidate, &bin)) return true;
    }
    if (max_devices_ > 0 &&
        bins_.size() >= static_cast<std::size_t>(max_devices_)) {
      return false;
    }
    Bin bin;
    // Each profile of the candidate fits an empty device.
    if (!TryAdd(candidate, &bin)) return false;
    bins_.push_back(std::move(bin));
    return true;
  }

  bool TryAdd(std::size_t candidate, Bin* bin) {
    const Need& need = candidates_[candidate].need;
    const Need sum{bin->need.compute_slices + need.compute_slices,
                   bin->need.memory_slots + need.memory_slots};
    if (sum.compute_slices > device_.compute_slices) return false;
    if (sum.memory_slots > device_.memory_slots) return false;
    bin->members.push_back(candidate);
    if (!IsFeasible(*bin)) {
      bin->members.pop_back();
      return false;
    }
    bin->need = sum;
    return true;
  }

  bool IsFeasible(const Bin& bin) {
    std::vector<ProfileSet> sets = SetsOf(bin);
    const auto known = feasible_.find(sets);
    if (known != feasible_.end()) return known->second;
    const bool feasible = PackDevice(device_, sets).has_value();
    feasible_.emplace(std::move(sets), feasible);
    return feasible;
  }

  const DeviceSpec& device_;
  const std::vector<Candidate>& candidates_;
  const int max_devices_;
  std::vector<Bin> bins_;
  std::vector<std::size_t> without_room_;
  std::map<std::vector<ProfileSet>, bool> feasible_;
};

Need SumOfNeeds(const std::vector<Candidate>& candidates) {
  Need sum;
  for (const Candidate& candidate : candidates) {
    sum.compute_slices += candidate.need.compute_slices;
    sum.memory_slots += candidate.need.memory_slots;
  }
  return sum;
}

int LowerBound(const DeviceSpec& device, const Need& sum) {
  const auto devices = [](int need, int have) {
    return (need + have - 1) / have;
  };
  return std::max(devices(sum.compute_slices, device.compute_slices),
                  devices(sum.memory_slots, device.memory_slots));
}

std::string WhyNoRoom(const DeviceSpec& device, const Need& sum,
                      int max_devices) {
  const std::string totals = fmt::format(
      "the jobs need at least {} compute slices and {} memory slots, and {} x "
      "'{}' has {} and {}",
      sum.compute_slices, sum.memory_slots, max_devices, device.name,
      max_devices * device.compute_slices, max_devices * device.memory_slots);
  if (LowerBound(device, sum) > max_devices) return totals;
  return totals + ", but no placement was found that holds them all";
}

void AddReason(const std::string& reason, Packing* packing) {
  if (!packing->reason.empty()) packing->reason += "; ";
  packing->reason += reason;
}

/// Splits the jobs into those that some profile holds and those of `unplaced`.
std::vector<Candidate> SelectCandidates(std::span<const Job> jobs,
                                        const DeviceSpec& device,
                                        const std::vector<int>& selected,
                                        Packing* packing) {
  std::vector<Candidate> candidates;
  for (const Job& job : jobs) {
    Candidate candidate = MakeCandidate(job, device, selected);
    if (candidate.profiles.empty()) {
      packing->unplaced.push_back(job.model);
      AddReason(WhyNoProfile(job, device, selected), packing);
    } else {
      candidates.push_back(std::move(candidate));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), ComesFirst);
  return candidates;
}

std::optional<SliceDemand> DemandOn(const Job& job,
                                    const std::string& profile) {
  for (const SliceDemand& slice : job.slices) {
    if (slice.profile == profile) return slice;
  }
  return std::nullopt;
}

void AppendInstances(const DeviceSpec& device, const FirstFit& first_fit,
                     const std::vector<Candidate>& candidates,
                     Packing* packing) {
  for (const Bin& bin : first_fit.bins()) {
    const std::optional<DeviceAssignment> assignment =
        PackDevice(device, first_fit.SetsOf(bin));
    packing->compute_slices += assignment->compute_slices;
    packing->memory_slots += assignment->memory_slots;
    for (std::size_t i = 0; i < bin.members.size(); ++i) {
      const PlacedInstance& placed = assignment->instances[i];
      const MigProfile& profile =
          device.mig_profiles[static_cast<std::size_t>(placed.profile)];
      const Job& job = *candidates[bin.members[i]].job;
      const Verdict verdict = JudgeJob(job, device, profile);
      packing->instances.push_back({.device = packing->num_devices,
                                    .profile = profile.name,
                                    .start = placed.start,
                                    .memory_slots = profile.memory_slots,
                                    .model = job.model,
                                    .needed_mib = verdict.needed_mib,
                                    .margin_mib = verdict.margin_mib,
                                    .demand = DemandOn(job, profile.name)});
    }
    ++packing->num_devices;
  }
  std::sort(packing->instances.begin(), packing->instances.end(),
            [](const PackedInstance& a, const PackedInstance& b) {
              return a.device != b.device ? a.device < b.device
                                          : a.start < b.start;
            });
}

/// Places as many candidates as it finds room for.
void Place(const DeviceSpec& device, const std::vector<Candidate>& candidates,
           int max_devices, Packing* packing) {
  FirstFit largest_first(device, candidates, max_devices);
  largest_first.AddAll();
  if (largest_first.without_room().empty()) {
    AppendInstances(device, largest_first, candidates, packing);
    return;
  }
  AddReason(WhyNoRoom(device, SumOfNeeds(candidates), max_devices), packing);
  const std::vector<Candidate> reversed(candidates.rbegin(), candidates.rend());
  FirstFit smallest_first(device, reversed, max_devices);
  smallest_first.AddAll();
  const bool is_better = smallest_first.without_room().size() <
                         largest_first.without_room().size();
  const FirstFit& best = is_better ? smallest_first : largest_first;
  const std::vector<Candidate>& order = is_better ? reversed : candidates;
  for (const std::size_t left : best.without_room()) {
    packing->unplaced.push_back(order[left].job->model);
  }
  AppendInstances(device, best, order, packing);
}

}  // namespace

Job ToJob(const Demand& demand) {
  return {.model = demand.model,
          .needed_mib = demand.hi_mib,
          .slices = demand.slices,
          .gpus = demand.gpus};
}

Packing Pack(std::span<const Job> jobs, const DeviceSpec& device,
             const PackOptions& options) {
  const std::vector<int> selected =
      SelectProfiles(device, {.media_extensions = options.media_extensions});
  CheckArguments(jobs, device, options);
  Packing packing;
  packing.device = device.name;
  const std::vector<Candidate> candidates =
      SelectCandidates(jobs, device, selected, &packing);
  const Need sum = SumOfNeeds(candidates);
  packing.at_least_devices = LowerBound(device, sum);
  Place(device, candidates, options.max_devices, &packing);
  packing.fits = packing.unplaced.empty();
  return packing;
}

}  // namespace foretell::mig
