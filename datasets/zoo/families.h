#pragma once

#include <span>

#include "datasets/zoo/family.h"

namespace foretell::zoo {

/// All families, in the order of documentation. A new family is one file, one
/// line here and one in families.cc.
std::span<const Family> Families();

extern const Family kEfficientNet;
extern const Family kMnasNet;
extern const Family kMobileNet;
extern const Family kResNet;
extern const Family kVgg;
extern const Family kSwin;
extern const Family kVit;
extern const Family kDenseNet;
extern const Family kVisformer;
extern const Family kPoolFormer;
extern const Family kConvNext;
extern const Family kRegNet;
extern const Family kInception;
extern const Family kMixer;
extern const Family kUNet;
extern const Family kUNet3d;
extern const Family kWeather;
extern const Family kMlp;
extern const Family kBert;
extern const Family kGpt;
extern const Family kT5;
extern const Family kDeberta;
extern const Family kRnn;
extern const Family kLlama;
extern const Family kClip;
extern const Family kSam;
extern const Family kDiffusionUNet;
extern const Family kVaeDecoder;
extern const Family kVaeEncoder;
extern const Family kWhisper;
extern const Family kDetr;
extern const Family kFlux;
extern const Family kFlux2;
extern const Family kSd3;
extern const Family kWan;

}  // namespace foretell::zoo
