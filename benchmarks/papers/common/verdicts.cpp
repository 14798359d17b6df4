// SPDX-License-Identifier: MIT

#include "verdicts.hpp"

#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace papers {

namespace {

/// "+- 0.3" behind a number; nothing for a single run.
std::string reach(double half) {
  return half > 0 ? text(" +-%.2g", half) : "";
}

class Judge {
public:
  Judge(Claim const& claim, Figures const& figures)
      : claim_(claim), rule_(*claim.rule), figures_(figures) {}

  [[nodiscard]] Verdict verdict() {
    using enum Rule::Kind;
    switch (rule_.kind) {
    case order:
      count_points([this](Point const& at) { return ordered(at); });
      break;
    case similar:
      count_points([this](Point const& at) { return spread(at) <= rule_.within; });
      verdict_.ours += text(", apart by up to %.1f %%", largest_spread());
      break;
    case change:
      judge_change();
      break;
    case number:
      judge_number();
      break;
    case table:
      judge_table();
      break;
    case limit:
      judge_limit();
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
  [[nodiscard]] Mean get(Point const& at, std::string const& strategy) {
    return get(claim_.workload, at, strategy);
  }

  [[nodiscard]] Mean
  get(std::string const& workload, Point const& at, std::string const& strategy) {
    return figures_({workload, at, strategy}, rule_.metric);
  }

  [[nodiscard]] bool better(Mean const& a, Mean const& b) const {
    return rule_.more_is_better ? a.value > b.value : a.value < b.value;
  }

  /// In percent.
  [[nodiscard]] Mean gain(std::string const& workload, Point const& at) {
    auto const a = get(workload, at, rule_.of.front());
    auto const b = get(workload, at, rule_.against.front());
    auto const ratio = a.value / b.value;
    auto const error = std::hypot(a.half / a.value, b.half / b.value);
    return {100 * (ratio - 1), 100 * ratio * error};
  }

  [[nodiscard]] bool ordered(Point const& at) {
    return std::all_of(rule_.of.begin(), rule_.of.end(), [&](std::string const& one) {
      auto const own = get(at, one);
      return std::all_of(rule_.against.begin(), rule_.against.end(), [&](auto const& other) {
        return better(own, get(at, other));
      });
    });
  }

  /// By how many percent the largest value exceeds the smallest.
  [[nodiscard]] double spread(Point const& at) {
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
    set_points(verdict_, held, claim_.at.size(), rule_.share);
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
      auto const measured = get(claim_.at.front(), name);
      verdict_.ours +=
          (verdict_.ours.empty() ? "" : ", ") + text("%.4g", measured.value) + reach(measured.half);
      verdict_.reproduced =
          verdict_.reproduced && std::abs(measured.value - rule_.published) <= rule_.within;
    }
  }

  void judge_table() {
    auto const& name = rule_.of.front();
    std::size_t k = 0;
    double farthest = 0;
    count_points([&](Point const& at) {
      auto const published = rule_.table[k++];
      auto const off = std::abs(get(at, name).value - published) /
                       (rule_.within_percent ? std::abs(published) / 100 : 1);
      farthest = std::max(farthest, off);
      return off <= rule_.within;
    });
    auto const unit = rule_.within_percent ? " %" : "";
    verdict_.published += text(" (%.3g%s)", rule_.within, unit);
    verdict_.ours += text(", off by up to %.3g%s", farthest, unit);
  }

  void judge_limit() {
    double least = INFINITY;
    double most = -INFINITY;
    count_points([&](Point const& at) {
      return std::all_of(rule_.of.begin(), rule_.of.end(), [&](std::string const& name) {
        auto const value = get(at, name).value;
        least = std::min(least, value);
        most = std::max(most, value);
        return value >= rule_.at_least.value_or(-INFINITY) &&
               value < rule_.below.value_or(INFINITY);
      });
    });
    verdict_.published = limits("") + (rule_.share < 1 ? " at " + verdict_.published : "");
    verdict_.ours += least < most ? text(", %.4g to %.4g", least, most) : text(", %.4g", least);
  }

  /// ">= 2", "< 3" or ">= 2 < 3", with the unit.
  [[nodiscard]] std::string limits(char const* unit) const {
    auto const low = rule_.at_least ? text(">= %g%s", *rule_.at_least, unit) : "";
    auto const high = rule_.below ? text("< %g%s", *rule_.below, unit) : "";
    return low + (low.empty() || high.empty() ? "" : " ") + high;
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
    verdict_.ours = *best + (best_at.text().empty() ? "" : ", " + best_at.text());
    verdict_.reproduced = best == &rule_.of.front();
    verdict_.against = {best_at};
  }

  void judge_not_worst() {
    auto const at = claim_.at.front();
    auto const own = get(at, rule_.of.front());
    auto const worse = std::find_if(rule_.against.begin(),
                                    rule_.against.end(),
                                    [&](auto const& name) { return better(own, get(at, name)); });
    verdict_.published = "another is worse";
    verdict_.reproduced = worse != rule_.against.end();
    verdict_.ours = verdict_.reproduced ? *worse + " is worse" : "it is the worst";
  }

  void judge_scaling() {
    verdict_.published = limits(" x");
    verdict_.reproduced = true;
    for (auto const& name : rule_.of) {
      auto const times = get(claim_.at.back(), name).value / get(claim_.at.front(), name).value;
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
              (verdict_.ours.empty() ? "not " : ", ") + name + " at " + claim_.at[k].text();
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
  Figures const& figures_;
  Verdict verdict_;
};

} // namespace

void set_points(Verdict& verdict, std::size_t held, std::size_t all, double share) {
  auto const needed = static_cast<std::size_t>(std::ceil(share * static_cast<double>(all) - 1e-9));
  verdict.reproduced = held >= needed;
  verdict.published = needed == all ? text("%zu of %zu points", all, all)
                                    : text(">= %zu of %zu points", needed, all);
  verdict.ours = text("%zu of %zu", held, all);
}

Verdict judge(Claim const& claim, Figures const& figures) {
  return Judge(claim, figures).verdict();
}

} // namespace papers
