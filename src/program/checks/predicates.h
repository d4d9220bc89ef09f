#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "src/program/meta/call.h"

/// What the checks of operands ask for. Each throws Error(kInvalidArgument)
/// with both values; `what` names an argument. An undefined tensor, which is an
/// optional argument that was left out, fits everything.
namespace foretell::checks {

using meta::Call;
using meta::Sizes;

/// "[2,3]".
std::string Text(at::IntArrayRef sizes);
/// "f32".
std::string TypeText(const at::Tensor& tensor);

/// `tensor` has exactly the shape `expected`.
void RequireShape(const at::Tensor& tensor, std::string_view what,
                  at::IntArrayRef expected);
/// `tensor` broadcasts to `shape`.
void RequireExpands(const at::Tensor& tensor, std::string_view what,
                    at::IntArrayRef shape);
/// Both broadcast to one shape.
void RequireBroadcasts(const at::Tensor& tensor, std::string_view what,
                       const at::Tensor& other, std::string_view other_what);
void RequireElements(const at::Tensor& tensor, std::string_view what,
                     std::int64_t expected);
void RequireRank(const at::Tensor& tensor, std::string_view what,
                 std::int64_t least, std::int64_t most);

void RequireOneOf(const at::Tensor& tensor, std::string_view what,
                  std::initializer_list<at::ScalarType> types);
/// Both have the same element type.
void RequireTypeOf(const at::Tensor& tensor, std::string_view what,
                   const at::Tensor& other, std::string_view other_what);
/// Floating-point or complex elements, if there are any: most kernels return
/// before they look at the type of an empty tensor.
void RequireFloats(const at::Tensor& tensor);
/// The element type of `tensor` holds `value`.
void RequireHolds(const at::Tensor& tensor, const at::Scalar& value);

void RequireAtLeast(std::int64_t number, std::string_view what,
                    std::int64_t least);
/// A list is given, and all of its numbers are at least `least`.
void RequireAll(const Call& call, std::string_view name, std::size_t rank,
                std::int64_t least);
/// `number` of `what` divides into `groups`.
void RequireDivides(std::int64_t number, std::string_view what,
                    std::int64_t groups);
/// `dim` is one of a tensor of `rank` dimensions; a number counts as a vector.
void RequireDim(std::int64_t dim, std::int64_t rank);
/// The dimensions `dims` exist, and none is named twice.
void RequireDims(const Sizes& dims, std::int64_t rank);

}  // namespace foretell::checks
