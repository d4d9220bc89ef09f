#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "foretell/correction.h"
#include "foretell/features.h"
#include "foretell/program.h"
#include "src/surrogate/axis.h"
#include "src/surrogate/table.h"

namespace foretell::cli {

/// A program and the request for its inputs at one point.
struct SweptPoint {
  std::string model;  ///< With the fields of the zoo that the point sets.
  StepRequest step;
};

/// One model at many points of a sweep. An axis is the batch, the resolution
/// (height and width of images, edge of volumes), a named dimension of the
/// model, or a field of a network of the zoo: one that its name
/// gives as {AXIS}, or one that is added.
class SweptModel {
 public:
  /// Opens the only model of `options`, which must outlive this object. Throws
  /// what OpenModel throws, and Error(kInvalidArgument) for an axis that the
  /// model does not have. Errors name `flag`, which gave the axes.
  SweptModel(const ModelOptions& options, std::vector<surrogate::Axis> axes,
             std::string flag = "--sweep");

  const std::vector<surrogate::Axis>& axes() const { return axes_; }
  /// Names of the axes.
  std::vector<std::string> Names() const;
  /// Where a graph of the model shows each axis, without ranges.
  std::vector<ScopeFactor> Factors() const;
  /// What the model is at `point` [axes]. Errors as OpenModel and BindInputs.
  SweptPoint At(const Eigen::VectorXd& point);
  /// The step at `point`, traced. Errors as Session::Graph, with the point in
  /// front.
  OperatorGraph GraphAt(const Eigen::VectorXd& point);

 private:
  enum class Kind { kBatch, kResolution, kDimension, kField };

  Kind KindOf(const std::string& name);
  ScopeFactor LengthFactor(Kind kind, const std::string& name) const;
  const Program& Open(const std::string& model);
  std::string Describe(const Eigen::VectorXd& point) const;

  const ModelOptions& options_;
  std::vector<surrogate::Axis> axes_;
  std::string flag_;
  std::vector<Kind> kinds_;
  std::map<std::string, Program> programs_;
};

}  // namespace foretell::cli
