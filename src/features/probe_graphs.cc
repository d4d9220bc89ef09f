// Tensors are large enough that no kernel is a launch alone.
#include "src/features/probe_graphs.h"

namespace foretell::learned {
namespace {

constexpr std::string_view kInference = R"(
graph "probe" mode=inference precision=fp32 autocast=f16 batch=256
%x = input f32[256,3,224,224]
%stem = parameter f32[64,3,7,7]
%dense = parameter f16[128,64,3,3]
%strided = parameter f16[128,64,3,3]
%depthwise = parameter f16[128,1,3,3]
%wide = parameter f16[128,1,7,7]
%grouped = parameter f16[256,32,3,3]
%pointwise = parameter f16[256,256,1,1]
%squeeze = parameter f16[16,256,1,1]
%excite = parameter f16[256,16,1,1]
%up = parameter f16[256,128,2,2]
%norm = parameter f32[128]
%scale = parameter f32[256]
%half = parameter f16[256]
%pointwise_bias = parameter f16[256]
%qkv = parameter f16[768,256]
%inner = parameter f16[1024,256]
%outer = parameter f16[256,1024]
%bias = parameter f16[1024]
%index = buffer i64[196]
%x16 = to(%x) {autocast=true} : f16[256,3,224,224]
%stem16 = to(%stem) {autocast=true} : f16[64,3,7,7]
%c0 = conv2d(%x16, %stem16) {stride=[2, 2], padding=[3, 3]} : f16[256,64,112,112]
%r0 = relu_(%c0) : f16[256,64,112,112] alias %c0
%p0 = max_pool2d(%r0) {kernel_size=[3, 3], stride=[2, 2], padding=[1, 1]} : f16[256,64,56,56]
%c1 = conv2d(%p0, %dense) {padding=[1, 1]} : f16[256,128,56,56]
%n1 = batch_norm(%c1, %norm, %norm, %norm, %norm) {training=false} : f16[256,128,56,56]
%s1 = silu(%n1) : f16[256,128,56,56]
%c2 = conv2d(%s1, %depthwise) {padding=[1, 1], groups=128} : f16[256,128,56,56]
%c3 = conv2d(%s1, %wide) {padding=[3, 3], groups=128} : f16[256,128,56,56]
%c4 = conv2d(%p0, %strided) {stride=[2, 2], padding=[1, 1]} : f16[256,128,28,28]
%a2 = add(%c2, %c3) : f16[256,128,56,56]
%h2 = hardswish(%a2) : f16[256,128,56,56]
%p2 = avg_pool2d(%h2) {kernel_size=[2, 2], stride=[2, 2]} : f16[256,128,28,28]
%k2 = cat(%p2, %c4) {dim=1} : f16[256,256,28,28]
%c5 = conv2d(%k2, %grouped) {padding=[1, 1], groups=8} : f16[256,256,28,28]
%c6 = conv2d(%c5, %grouped) {stride=[2, 2], padding=[1, 1], groups=8} : f16[256,256,14,14]
%c7 = conv2d(%c6, %pointwise, %pointwise_bias) : f16[256,256,14,14]
%m7 = mean(%c7) {dim=[2, 3], keepdim=true} : f16[256,256,1,1]
%q7 = conv2d(%m7, %squeeze) : f16[256,16,1,1]
%e7 = conv2d(%q7, %excite) : f16[256,256,1,1]
%g7 = sigmoid(%e7) : f16[256,256,1,1]
%o7 = mul(%c7, %g7) : f16[256,256,14,14]
%t7 = conv_transpose2d(%o7, %up) {stride=[2, 2]} : f16[256,128,28,28]
%u7 = upsample_bilinear2d(%t7) : f16[256,128,56,56]
%f7 = constant_pad_nd(%u7) {pad=[1, 1, 1, 1]} : f16[256,128,58,58]
%z7 = to(%o7) {autocast=true} : f32[256,256,14,14]
%y7 = group_norm(%z7, %scale, %scale) {num_groups=32} : f32[256,256,14,14]
%l8 = flatten(%y7) {start_dim=2, end_dim=3} : f32[256,256,196] alias %y7
%v8 = transpose(%l8) {dim0=1, dim1=2} : f32[256,196,256] strides=[50176, 1, 196] alias %y7
%n8 = layer_norm(%v8, %scale, %scale) {normalized_shape=[256]} : f32[256,196,256]
%t8 = transpose(%n8) {dim0=1, dim1=2} : f32[256,256,196] strides=[50176, 1, 256] alias %n8
%u8 = bmm(%n8, %t8) : f32[256,196,196]
%h8 = to(%n8) {autocast=true} : f16[256,196,256]
%b8 = linear(%h8, %qkv) : f16[256,196,768]
%d8 = view(%b8) {size=[256, 196, 3, 8, 32]} : f16[256,196,3,8,32] alias %b8
%e8 = permute(%d8) {dims=[2, 0, 3, 1, 4]} : f16[3,256,8,196,32] strides=[256, 150528, 32, 768, 1] alias %b8
%q8, %k8, %w8 = unbind(%e8) {dim=0} : f16[256,8,196,32] strides=[150528, 32, 768, 1] alias %b8, f16[256,8,196,32] strides=[150528, 32, 768, 1] alias %b8, f16[256,8,196,32] strides=[150528, 32, 768, 1] alias %b8
%a8 = scaled_dot_product_attention(%q8, %k8, %w8) : f16[256,8,196,32]
%i8 = transpose(%k8) {dim0=2, dim1=3} : f16[256,8,32,196] strides=[150528, 32, 1, 768] alias %b8
%j8 = matmul(%q8, %i8) : f16[256,8,196,196]
%o8 = softmax(%j8) {dim=-1} : f32[256,8,196,196]
%g8 = linear(%h8, %inner, %bias) : f16[256,196,1024]
%x9 = gelu(%g8) : f16[256,196,1024]
%y9 = linear(%x9, %outer, %half) : f16[256,196,256]
%z9 = index(%y9, %index) : f16[256,196,256]
%w9 = clone(%z9) {memory_format=0} : f16[256,196,256]
%v9 = sub(%w9, %y9) : f16[256,196,256]
%x10 = pow(%v9) {exponent=2} : f16[256,196,256]
output %f7, %u8, %a8, %o8, %x10
)";

constexpr std::string_view kTraining = R"(
graph "probe" mode=training precision=fp32 batch=256 optimizer="momentum"
%c.weight = parameter f32[32,3,3,3]
%b.weight = parameter f32[32]
%d.weight = parameter f32[64,32,3,3]
%l.weight = parameter f32[64]
%f.weight = parameter f32[10,64]
%mean = buffer f32[32]
%x = input f32[256,3,64,64]
%state = optimizer_state f32[64,32,3,3]
%saved = saved f32[256,1024,1]
%saved.2 = saved f32[32]
%0 = conv2d(%x, %c.weight) {stride=[2, 2], padding=[1, 1]} : f32[256,32,32,32] saved
%1 = batch_norm(%0, %b.weight, %b.weight, %mean, %mean) {training=true} : f32[256,32,32,32]
%2 = relu(%1) : f32[256,32,32,32] saved
%3 = conv2d(%2, %d.weight) {stride=[1, 1], padding=[1, 1]} : f32[256,64,32,32] saved
%4 = gelu(%3) : f32[256,64,32,32] saved
%5 = flatten(%4) {start_dim=2, end_dim=3} : f32[256,64,1024] alias %4
%6 = transpose(%5) {dim0=1, dim1=2} : f32[256,1024,64] strides=[65536, 1, 1024] alias %4
%7 = layer_norm(%6, %l.weight, %l.weight) {normalized_shape=[64]} : f32[256,1024,64]
%8 = mean(%7) {dim=[1], keepdim=false} : f32[256,64] saved
%9 = linear(%8, %f.weight) : f32[256,10] saved
phase backward
%10 = ones_like(%9) : f32[256,10] backward_temporary
%11 = mm(%10, %f.weight) : f32[256,64] backward_temporary
%12 = unsqueeze(%11) {dim=1} : f32[256,1,64] alias %11
%13 = expand(%12) {size=[256, 1024, 64]} : f32[256,1024,64] strides=[64, 0, 1] alias %11
%14 = div(%13) {other=1024} : f32[256,1024,64] backward_temporary
%15, %15.2, %15.3 = native_layer_norm_backward(%14, %6, %saved, %saved, %l.weight, %l.weight) {normalized_shape=[64], output_mask=[1, 1, 1]} : f32[256,1024,64] backward_temporary, f32[64] gradient, f32[64] gradient
%16 = transpose(%15) {dim0=1, dim1=2} : f32[256,64,1024] strides=[65536, 1, 64] alias %15
%17 = reshape(%16) {shape=[256, 64, 32, 32]} : f32[256,64,32,32] strides=[65536, 1, 2048, 64] alias %15
%18 = gelu_backward(%17, %3) : f32[256,64,32,32] strides=[65536, 1, 2048, 64] backward_temporary
%19, %19.2 = convolution_backward(%18, %2, %d.weight) {stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=1, output_mask=[1, 1, 0]} : f32[256,32,32,32] backward_temporary, f32[64,32,3,3] gradient
%20 = threshold_backward(%19, %2) {threshold=0} : f32[256,32,32,32] backward_temporary
%21, %21.2, %21.3 = native_batch_norm_backward(%20, %0, %b.weight, %mean, %mean, %saved.2, %saved.2) {train=true, output_mask=[1, 1, 1]} : f32[256,32,32,32] backward_temporary, f32[32] gradient, f32[32] gradient
%22 = convolution_backward(%21, %x, %c.weight) {stride=[2, 2], padding=[1, 1], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=1, output_mask=[0, 1, 0]} : f32[32,3,3,3] gradient
phase optimizer
%23 = mul_(%state) {other=0.9} : f32[64,32,3,3] alias %state
%24 = add_(%23, %19.2) {alpha=1.0} : f32[64,32,3,3] alias %state
%25 = add_(%d.weight, %24) {alpha=-0.01} : f32[64,32,3,3] alias %d.weight
output %9
)";

}  // namespace

constexpr std::array<std::string_view, 2> kProbeGraphs = {kInference,
                                                          kTraining};

}  // namespace foretell::learned
