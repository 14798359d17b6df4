// SPDX-License-Identifier: MIT

#include "verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lima2015 {

namespace {

std::string text(char const* format, auto... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

/// "+- 0.3" behind a number; nothing for a single run.
std::string reach(double half) {
  return half > 0 ? text(" +-%.2g", half) : "";
}

bool more_is_better(std::string const& metric) {
  return metric == "speed" || metric == "speedup" || metric == "gflops" || metric == "hit_percent";
}

class Judge {
public:
  Judge(Claim const& claim, Runs& runs) : claim_(claim), rule_(*claim.rule), runs_(runs) {}

  [[nodiscard]] Verdict verdict() {
    using enum Rule::Kind;
    switch (rule_.kind) {
    case order:
      count_points([this](Point at) { return ordered(at); });
      break;
    case similar:
      count_points([this](Point at) { return spread(at) <= rule_.within; });
      verdict_.ours += text(", apart by up to %.1f %%", largest_spread());
      break;
    case change:
      judge_change();
      break;
    case number:
      judge_number();
      break;
    case best:
      judge_best();
      break;
    case not_worst:
      judge_not_worst();
      break;
    case scaling:
      judge_scaling();
      break;
    case growth:
      judge_growth();
      break;
    case larger_change:
      judge_larger_change();
      break;
    }
    if (!verdict_.reproduced && verdict_.against.empty()) {
      verdict_.against = claim_.at;
    }
    return verdict_;
  }

private:
  [[nodiscard]] Mean get(Point at, std::string const& strategy) {
    return get(claim_.workload, at, strategy);
  }

  [[nodiscard]] Mean get(std::string const& workload, Point at, std::string const& strategy) {
    return runs_.of({workload, at, strategy}).metric(rule_.metric);
  }

  [[nodiscard]] bool better(Mean const& a, Mean const& b) const {
    return more_is_better(rule_.metric) ? a.value > b.value : a.value < b.value;
  }

  /// In percent.
  [[nodiscard]] Mean gain(std::string const& workload, Point at) {
    auto const a = get(workload, at, rule_.of.front());
    auto const b = get(workload, at, rule_.against.front());
    auto const ratio = a.value / b.value;
    auto const error = std::hypot(a.half / a.value, b.half / b.value);
    return {100 * (ratio - 1), 100 * ratio * error};
  }

  [[nodiscard]] bool ordered(Point at) {
    return std::all_of(rule_.of.begin(), rule_.of.end(), [&](std::string const& one) {
      auto const its = get(at, one);
      return std::all_of(rule_.against.begin(), rule_.against.end(), [&](auto const& other) {
        return better(its, get(at, other));
      });
    });
  }

  /// Of the largest over the smallest, in percent.
  [[nodiscard]] double spread(Point at) {
    double least = INFINITY;
    double most = 0;
    for (auto const& name : rule_.of) {
      auto const value = get(at, name).value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    return least > 0 ? 100 * (most / least - 1) : most > 0 ? INFINITY : 0;
  }

  [[nodiscard]] double largest_spread() {
    double most = 0;
    for (auto const& at : claim_.at) {
      most = std::max(most, spread(at));
    }
    return most;
  }

  template <class Holds>
  void count_points(Holds&& holds) {
    std::size_t held = 0;
    for (auto const& at : claim_.at) {
      if (holds(at)) {
        ++held;
      } else {
        verdict_.against.push_back(at);
      }
    }
    auto const all = claim_.at.size();
    auto const needed =
        static_cast<std::size_t>(std::ceil(rule_.share * static_cast<double>(all) - 1e-9));
    verdict_.reproduced = held >= needed;
    verdict_.published = needed == all ? text("%zu of %zu points", all, all)
                                       : text(">= %zu of %zu points", needed, all);
    verdict_.ours = text("%zu of %zu", held, all);
  }

  void judge_change() {
    auto const ours = gain(claim_.workload, claim_.at.front());
    auto const published = rule_.published;
    verdict_.published = text("%+.2f %% (%.3g points)", published, rule_.within);
    verdict_.ours = text("%+.2f %%", ours.value) + reach(ours.half);
    verdict_.reproduced = (ours.value > 0) == (published > 0) && ours.value != 0 &&
                          std::abs(ours.value - published) <= rule_.within;
  }

  void judge_number() {
    verdict_.published = text("%.4g (%.3g)", rule_.published, rule_.within);
    verdict_.reproduced = true;
    for (auto const& name : rule_.of) {
      auto const its = get(claim_.at.front(), name);
      verdict_.ours +=
          (verdict_.ours.empty() ? "" : ", ") + text("%.4g", its.value) + reach(its.half);
      verdict_.reproduced =
          verdict_.reproduced && std::abs(its.value - rule_.published) <= rule_.within;
    }
  }

  void judge_best() {
    auto best_at = claim_.at.front();
    auto const* best = &rule_.of.front();
    for (auto const& at : claim_.at) {
      for (auto const* const names : {&rule_.of, &rule_.against}) {
        for (auto const& name : *names) {
          if (better(get(at, name), get(best_at, *best))) {
            best_at = at;
            best = &name;
          }
        }
      }
    }
    verdict_.published = rule_.of.front();
    verdict_.ours = *best + text(", n = %zu, %d GPUs", best_at.n, best_at.gpus);
    verdict_.reproduced = best == &rule_.of.front();
    verdict_.against = {best_at};
  }

  void judge_not_worst() {
    auto const at = claim_.at.front();
    auto const its = get(at, rule_.of.front());
    auto const worse = std::find_if(rule_.against.begin(),
                                    rule_.against.end(),
                                    [&](auto const& name) { return better(its, get(at, name)); });
    verdict_.published = "another is worse";
    verdict_.reproduced = worse != rule_.against.end();
    verdict_.ours = verdict_.reproduced ? *worse + " is worse" : "it is the worst";
  }

  void judge_scaling() {
    auto const [few, many] = std::minmax_element(
        claim_.at.begin(), claim_.at.end(), [](auto a, auto b) { return a.gpus < b.gpus; });
    verdict_.published = (rule_.at_least ? text(">= %g x", *rule_.at_least) : "") +
                         (rule_.below ? text("< %g x", *rule_.below) : "");
    verdict_.reproduced = true;
    for (auto const& name : rule_.of) {
      auto const times = get(*many, name).value / get(*few, name).value;
      verdict_.ours += text(verdict_.ours.empty() ? "%.2f" : ", %.2f", times);
      verdict_.reproduced = verdict_.reproduced && times >= rule_.at_least.value_or(0) &&
                            times < rule_.below.value_or(INFINITY);
    }
  }

  void judge_growth() {
    verdict_.published = "grows";
    for (auto const& name : rule_.of) {
      for (std::size_t k = 1; k < claim_.at.size(); ++k) {
        if (!better(get(claim_.at[k], name), get(claim_.at[k - 1], name))) {
          verdict_.ours +=
              (verdict_.ours.empty() ? "not " : ", ") + name + text(" at n = %zu", claim_.at[k].n);
        }
      }
    }
    verdict_.reproduced = verdict_.ours.empty();
    verdict_.ours = verdict_.reproduced ? "grows" : verdict_.ours;
  }

  void judge_larger_change() {
    auto const here = gain(claim_.workload, claim_.at.front());
    auto const there = gain(rule_.than, claim_.at.front());
    verdict_.published = "more than on " + rule_.than;
    verdict_.ours = text("%+.2f %%", here.value) + reach(here.half) +
                    text(" and %+.2f %%", there.value) + reach(there.half);
    verdict_.reproduced = here.value > there.value;
  }

  Claim const& claim_;
  Rule const& rule_;
  Runs& runs_;
  Verdict verdict_;
};

} // namespace

Verdict judge(Claim const& claim, Runs& runs) {
  return Judge(claim, runs).verdict();
}

} // namespace lima2015
