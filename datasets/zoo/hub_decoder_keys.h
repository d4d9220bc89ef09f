#pragma once

#include "datasets/zoo/hub_types.h"

namespace foretell::zoo {

/// Of decoders, with the defaults of LlamaConfig.
inline constexpr HubKey kDecoderKeys[] = {
    {"hidden_size", "width", "4096"},
    {"num_hidden_layers", "depth", "32"},
    {"num_attention_heads", "heads", "32"},
    {"num_key_value_heads", "kv_heads", "=num_attention_heads"},
    {"head_dim", "head_width", "0", "0", "", &HeadWidth},
    {"intermediate_size", "inner", "11008"},
    {"vocab_size", "vocabulary", "32000"},
    {"max_position_embeddings", "positions", "2048"},
    {"rope_parameters.rope_theta|rope_theta", "rotary_base", "10000", "", "",
     &RotaryBase},
    {"partial_rotary_factor", "rotary_share", "1", "1"},
    {"hidden_act", "activation", "silu", "silu"},
    {"tie_word_embeddings", "tied_head", "false"},
    {"attention_dropout", "attention_dropout", "0", "0", "", nullptr, true},
};

}  // namespace foretell::zoo
