#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/device.h"

/// Which MIG slice a network fits, which slices fit a GPU, and input for the
/// tools that create them. docs/mig.md explains the rules.
namespace foretell::mig {

/// Cost of a batch on one MIG profile.
struct SliceDemand {
  std::string profile;  ///< MigProfile::name.
  double latency_ms = 0;
  double energy_j = 0;  ///< Drawn by the slice's share of the board.
  /// Reduction of the CUDA context relative to the whole device.
  double context_saved_mib = 0;
};

/// Predicted demand of a network on the whole device and its slices.
struct Demand {
  std::string model;     ///< Name for reports; may be empty.
  double total_mib = 0;  ///< As shown by nvidia-smi, context included.
  double lo_mib = 0;     ///< Interval of total_mib.
  double hi_mib =
      0;  ///< Memory that must fit. Part of all three that is cache: segments
          ///< that the allocator releases before it fails.
  double cache_mib = 0;
  double latency_ms = 0;
  double energy_j = 0;
  /// GPUs that share the step. Several use NCCL, which does not span MIG
  /// instances.
  std::int64_t gpus = 1;
  /// One per profile that is judged, in any order. May be empty if only memory
  /// is known: latency_ms and energy_j are 0 then.
  std::vector<SliceDemand> slices;
};

/// How Recommend chooses.
enum class Rule : std::uint8_t {
  kUsableMemory,  ///< The smallest profile whose usable memory holds hi_mib.
  /// Thresholds on total_mib, published with DIPPM for the A100 of 40 GB:
  /// below 5 GB 1g.5gb, 10 GB 2g.10gb, 20 GB 3g.20gb, 40 GB 7g.40gb.
  kDippm,
};
/// "usable-memory", "dippm".
std::string_view RuleName(Rule rule);
std::optional<Rule> ParseRule(std::string_view name);

/// True if `needed_mib`, the upper end of a prediction including the CUDA
/// context, fits into `usable_mib`; the only rule for memory.
bool FitsMemory(double needed_mib, double usable_mib);

/// Whether a step fits.
enum class Fit : std::uint8_t {
  kFits,
  /// Only after the allocator releases cached segments, which waits for the GPU
  /// to be idle: slower, and close to the limit.
  kFitsWithoutCache,
  kDoesNotFit,
};
/// "fits", "fits when PyTorch empties its cache", "does not fit".
std::string_view FitText(Fit fit);

/// FitsMemory for `needed_mib`, then for `needed_mib` - `cache_mib`.
Fit JudgeMemory(double needed_mib, double cache_mib, double usable_mib);

/// Verdict for one profile, or for the device without MIG.
struct Verdict {
  std::string profile;  ///< "1g.5gb"; empty for the device without MIG.
  std::int64_t usable_mib = 0;
  std::int64_t host_share_mib = 0;  ///< As DeviceSpec's; none of a profile.
  int sms = 0;
  /// Demand::total_mib and Demand::hi_mib with the context of that profile.
  double total_mib = 0;
  double needed_mib = 0;
  bool fits = false;           ///< FitsMemory(needed_mib, usable_mib).
  Fit fit = Fit::kDoesNotFit;  ///< The same, or with less cache.
  double margin_mib = 0;  ///< usable_mib - needed_mib; negative: too large.
  double latency_ms =
      0;  ///< Per batch on that profile; set even if it does not fit.
  double energy_j = 0;
  std::string reason;  ///< Sentence with both numbers.
};

/// Judges `demand` on `profile` of `device`, or without MIG if `profile` is
/// empty.
///
/// Throws Error(kInvalidArgument) for a number that is negative or not finite,
/// for an interval that does not contain the total, for a demand with a latency
/// or energy but no entry for `profile`, and for a profile if several GPUs
/// share the step; Error(kNotFound) for a profile that the device lacks.
Verdict Judge(const Demand& demand, const DeviceSpec& device,
              std::string_view profile = {});

struct RecommendOptions {
  Rule rule = Rule::kUsableMemory;
  /// Lists and chooses "+me" profiles too; they have the same cost and memory
  /// as their plain profiles, but a device can have only one of them.
  bool include_media_extensions = false;
};

struct Recommendation {
  std::string model;
  std::string device;
  Rule rule = Rule::kUsableMemory;
  Verdict whole_device;
  /// Ascending by usable MiB, then SMs; empty for a step that GPUs share.
  std::vector<Verdict> profiles;
  /// The chosen profile; empty when none fits, the device has no MIG or several
  /// GPUs share the step.
  std::optional<std::string> profile;
  std::string reason;  ///< Why this profile, or why none.
};

/// Judges `demand` on every profile of `device` and chooses one.
///
/// Throws what Judge throws; Error(kUnsupported) for Rule::kDippm on a device
/// that lacks the profiles it was published for.
Recommendation Recommend(const Demand& demand, const DeviceSpec& device,
                         const RecommendOptions& options = {});

/// An instance at its place.
struct PlacedInstance {
  int profile = 0;  ///< Index into DeviceSpec::mig_profiles.
  int start = 0;    ///< First memory slot.
  bool operator==(const PlacedInstance&) const = default;
};

/// Instances that share a device, ascending by start.
using Layout = std::vector<PlacedInstance>;

/// Selection of profiles.
struct LayoutOptions {
  /// Profiles with more memory than the smallest one of the same number of
  /// compute slices, such as 1g.10gb on an A100 of 40 GB.
  bool double_memory = true;
  bool media_extensions = false;
};

struct LayoutCounts {
  std::int64_t layouts = 0;          ///< Not empty, distinct by placement.
  std::int64_t multisets = 0;        ///< The same, distinct by profiles only.
  std::int64_t maximal_layouts = 0;  ///< Without room for another instance.
  std::int64_t maximal_multisets = 0;
  bool operator==(const LayoutCounts&) const = default;
};

/// All layouts except the empty one: no two instances overlap, their compute
/// slices add up to at most the device's, and at most one is "+me". Sorted
/// lexicographically by (start, profile) of their instances.
///
/// Throws Error(kUnsupported) when the device has no MIG or more than a
/// million layouts.
std::vector<Layout> EnumerateLayouts(const DeviceSpec& device,
                                     const LayoutOptions& options = {});

/// Those of EnumerateLayouts to which no profile of `options` can be added.
std::vector<Layout> MaximalLayouts(const DeviceSpec& device,
                                   const LayoutOptions& options = {});

LayoutCounts CountLayouts(const DeviceSpec& device,
                          const LayoutOptions& options = {});

/// A network that needs an instance of its own.
struct Job {
  std::string model;
  /// Upper bound on its memory on the whole device, context included.
  double needed_mib = 0;
  /// Profiles it may use; empty: every one with enough usable memory. A
  /// profile that is named here but too small is not used.
  std::vector<std::string> profiles;
  /// Cost on each profile; may be empty.
  std::vector<SliceDemand> slices = {};
  std::int64_t gpus = 1;  ///< As Demand; Pack refuses more than one.
};

/// The job that `demand` asks for, on any profile.
Job ToJob(const Demand& demand);

struct PackOptions {
  bool media_extensions = false;  ///< Use "+me" profiles too.
  /// Most devices to use; 0: no limit.
  int max_devices = 1;
};

/// An instance that Pack made for a job.
struct PackedInstance {
  int device = 0;  ///< Counts from 0.
  std::string profile;
  int start = 0;  ///< First memory slot.
  int memory_slots = 0;
  std::string model;
  double needed_mib = 0;  ///< As Verdict.
  double margin_mib = 0;
  /// Cost of the model on that instance, if its job states it.
  std::optional<SliceDemand> demand;
};

struct Packing {
  std::string device;  ///< Name of the kind of device.
  bool fits = false;   ///< Every job has an instance.
  int num_devices = 0;
  /// No packing uses fewer devices than this; equal to num_devices when the
  /// packing is proven best.
  int at_least_devices = 0;
  std::vector<PackedInstance> instances;  ///< By device, then by start.
  int compute_slices = 0;                 ///< Total over all devices.
  int memory_slots = 0;
  std::vector<std::string> unplaced;  ///< Models without an instance.
  std::string reason;                 ///< Reason for unplaced jobs; or empty.
};

/// Gives every job an instance of its own.
///
/// On one device the search is exact: finds a valid layout if there is one,
/// with the fewest compute slices, then the fewest memory slots. Over several
/// devices places jobs first-fit in decreasing order of need, with an exact
/// search per device, or in increasing order if that leaves fewer jobs
/// unplaced. A profile holds a job if Judge accepts it there. A job that no
/// profile holds, or without room, is not an error but listed in `unplaced`.
///
/// Throws Error(kInvalidArgument) for a memory that is negative or not finite,
/// for more than 10,000 jobs and for a negative `max_devices`;
/// Error(kNotFound) for a profile name the device lacks; Error(kUnsupported)
/// when it has no MIG.
Packing Pack(std::span<const Job> jobs, const DeviceSpec& device,
             const PackOptions& options = {});

// Output. Pure functions; every text ends with a line feed.

/// One row per profile, and one for the device without MIG.
std::string FormatTable(const Recommendation& recommendation);

/// The MIG table of a device: a row per profile with its usable MiB, SMs,
/// slices, placements and number of instances.
std::string FormatProfilesTable(const DeviceSpec& device);
std::string FormatProfilesJson(const DeviceSpec& device);

/// The four counts with their names, for `device`.
std::string FormatCountsTable(const DeviceSpec& device,
                              const LayoutCounts& counts);
std::string FormatCountsJson(const DeviceSpec& device,
                             const LayoutCounts& counts);
/// A line per layout: "0:1 1g.5gb, 4:4 3g.20gb" (start:slots profile).
std::string FormatLayouts(const DeviceSpec& device,
                          std::span<const Layout> layouts);

/// Those of `layouts` that hold an instance of each profile in `names`, two of
/// one that is named twice. Throws Error(kNotFound) for a profile that the
/// device lacks.
std::vector<Layout> LayoutsWith(const DeviceSpec& device,
                                std::span<const Layout> layouts,
                                std::span<const std::string> names);

std::string FormatTable(const Packing& packing);
std::string FormatJson(const Packing& packing);

/// A configuration file for NVIDIA's mig-parted with one configuration `name`
/// (letters, digits, '-', '_', '.'; else Error(kInvalidArgument)). It states
/// how many instances of which profile each device gets; placements, which
/// mig-parted chooses itself, are in comments.
std::string MigPartedConfig(const Packing& packing,
                            std::string_view name = "foretell");

/// The resource name of a profile in NVIDIA's Kubernetes device plugin (mixed
/// strategy): "nvidia.com/mig-1g.5gb"; '+' becomes '.', as in
/// "nvidia.com/mig-1g.5gb.me".
std::string KubernetesResourceName(std::string_view profile);

/// `model` as a DNS label (RFC 1123: at most 63 of a-z, 0-9 and '-'), as
/// required for the name of a Kubernetes container: "zoo-resnet50" for
/// "zoo:resnet50", "resnet18-onnx" for "models/resnet18.onnx".
std::string DnsLabel(std::string_view model);

/// A "resources:" fragment of YAML per model of the packing, with the limit
/// that gives its container one instance. Names are DNS labels, each once; the
/// model's own name is in a comment.
std::string KubernetesResources(const Packing& packing);

}  // namespace foretell::mig
