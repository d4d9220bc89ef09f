#pragma once

#include <ATen/core/ivalue.h>

namespace foretell::torchscript {

/// Rules that say from the arguments of an operator what it may make or read,
/// and subtract that from the run's budget (run_budget.h) before it does.
using Values = at::ArrayRef<c10::IValue>;
using ChargeRule = void (*)(Values);

/// The containers among the arguments.
void ChargeContainers(Values values);
/// Containers and all that is inside, also the numbers of tensors.
void ChargeContent(Values values);
/// The same for each comparison of a sort.
void ChargeSorting(Values values);
/// One more element of a list, or look into a dictionary, with the strings
/// among the arguments.
void ChargeElement(Values values);
/// One more entry of a dictionary.
void ChargeEntry(Values values);
/// How deep the arguments nest, summed over the run.
void ChargeDepth(Values values);
/// As many copies of the container, or characters, as the largest number says.
void ChargeCopies(Values values);
/// One string as often as another, or a list, has elements: to search one in
/// another takes that long in the worst case. Also the characters one by one.
void ChargeStrings(Values values);
/// replace(string, old, new, max).
void ChargeReplacement(Values values);
/// unbind(tensor, dim).
void ChargeUnbind(Values values);
/// split(tensor, size or sizes, dim).
void ChargeSplit(Values values);
/// chunk(tensor, chunks, dim).
void ChargeChunks(Values values);
/// tensor_split(tensor, sections or indices, …): sections may be empty, so that
/// there are as many as are asked for.
void ChargeSections(Values values);
/// tolist(tensor, …).
void ChargeNumbers(Values values);

}  // namespace foretell::torchscript
