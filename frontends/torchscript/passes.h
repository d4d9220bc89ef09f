#pragma once

#include <torch/csrc/jit/api/module.h>

#include "foretell/program.h"

/// Changes of a module's code, which must come before its first run.
namespace foretell::torchscript {

/// Makes every `with torch.autocast(…):` in the code of `module`, and of all it
/// calls, a region of the RunScope.
void EnterAutocast(const torch::jit::Module& module);

/// Splits long blocks of every function of `module`: LibTorch puts a node whose
/// result is used once inside the next, recursively, and honest networks are
/// long.
void BreakChains(torch::jit::Module& module);

/// Makes the code of `module` call what eager code would: where Python returns
/// its operand without a call, so does the code, and the casts that LibTorch
/// has written into a frozen file become casts on every device.
void CallAsEagerCode(const torch::jit::Module& module);

/// Gives operators the whole path of their module: a call of `self.layers.0`
/// becomes a call of a method of `self.layers`, which calls its `0`. LibTorch
/// names a call only by the last attribute, so that the modules of two lists
/// would both be "0". What `module` computes does not change.
void CallThroughContainers(torch::jit::Module& module);

/// Makes the states that recurrent layers begin with in the type that they have
/// in a run of `precision`, as the layers themselves would.
void MakeStatesAs(const torch::jit::Module& module, Precision precision);

}  // namespace foretell::torchscript
