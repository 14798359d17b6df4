// SPDX-License-Identifier: MIT

#include "verdicts.hpp"

#include "../common/text.hpp"
#include "names.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string>

namespace kumar2017 {

using papers::text;

namespace {

class Judge {
public:
  Judge(Claim const& claim, Laboratory& laboratory)
      : claim_(claim), rule_(*claim.rule), laboratory_(laboratory),
        more_(more_is_better(rule_.metric)) {}

  [[nodiscard]] Judgement judgement() {
    using enum Rule::Kind;
    switch (rule_.kind) {
    case order:
      judge_order();
      break;
    case range:
      judge_range();
      break;
    case number:
      judge_number();
      break;
    case similar:
      judge_similar();
      break;
    case trend:
      judge_trend();
      break;
    case gain:
      judge_gain();
      break;
    case peak:
      judge_peak();
      break;
    case worst:
      judge_worst();
      break;
    case draws:
      judge_draws();
      break;
    }
    if (judgement_.verdict.reproduced) {
      judgement_.against.clear();
    } else if (judgement_.against.empty()) {
      judgement_.against = claim_.at;
    }
    return judgement_;
  }

private:
  [[nodiscard]] double get(Place const& at, std::string const& name) {
    return laboratory_.figure(at, name, rule_.metric);
  }

  /// By how many percent a is ahead of b; negative if it is behind.
  [[nodiscard]] double lead(double a, double b) const {
    auto const first = more_ ? a : b;
    auto const second = more_ ? b : a;
    if (second == 0) {
      return first == 0 ? 0 : std::numeric_limits<double>::infinity();
    }
    return 100 * (first / second - 1);
  }

  template <class Holds>
  void count_points(Holds&& holds) {
    std::size_t held = 0;
    for (auto const& at : claim_.at) {
      if (holds(at)) {
        ++held;
      } else {
        judgement_.against.push_back(at);
      }
    }
    papers::set_points(judgement_.verdict, held, claim_.at.size(), rule_.share);
  }

  /// The least lead of any of `of` over any of `against`.
  [[nodiscard]] double least_lead(Place const& at) {
    auto least = std::numeric_limits<double>::infinity();
    for (auto const& one : rule_.of) {
      auto const value = get(at, one);
      for (auto const& other : rule_.against) {
        least = std::min(least, lead(value, get(at, other)));
      }
    }
    return least;
  }

  void judge_order() {
    auto lowest = std::numeric_limits<double>::infinity();
    auto highest = -lowest;
    count_points([&](Place const& at) {
      auto const lead = least_lead(at);
      lowest = std::min(lowest, lead);
      highest = std::max(highest, lead);
      return lead >= rule_.by;
    });
    judgement_.verdict.published += text(", by %g %%", rule_.by);
    judgement_.verdict.ours += text(", %+.1f to %+.1f %%", lowest, highest);
  }

  [[nodiscard]] std::string limits() const {
    auto const low = rule_.at_least ? text(">= %g", *rule_.at_least) : "";
    auto const high = rule_.at_most ? text("<= %g", *rule_.at_most) : "";
    return low + (low.empty() || high.empty() ? "" : " ") + high;
  }

  void judge_range() {
    auto least = std::numeric_limits<double>::infinity();
    auto most = -least;
    count_points([&](Place const& at) {
      return std::all_of(rule_.of.begin(), rule_.of.end(), [&](std::string const& name) {
        auto const value = get(at, name);
        least = std::min(least, value);
        most = std::max(most, value);
        constexpr double rounding = 1e-9;
        return value >= rule_.at_least.value_or(-HUGE_VAL) - rounding &&
               value <= rule_.at_most.value_or(HUGE_VAL) + rounding;
      });
    });
    judgement_.verdict.published =
        limits() + (rule_.share < 1 ? ", " + judgement_.verdict.published : "");
    judgement_.verdict.ours +=
        least < most ? text(", %.4g to %.4g", least, most) : text(", %.4g", least);
  }

  void judge_number() {
    judgement_.verdict.reproduced = true;
    double farthest = 0;
    std::size_t k = 0;
    for (auto const& at : claim_.at) {
      for (auto const& name : rule_.of) {
        auto const ours = get(at, name);
        auto const published = rule_.published[k];
        farthest = std::max(farthest, std::abs(ours - published));
        if (k < 4) {
          judgement_.verdict.ours += text(k == 0 ? "%.4g" : ", %.4g", ours);
          judgement_.verdict.published += text(k == 0 ? "%.4g" : ", %.4g", published);
        }
        ++k;
      }
    }
    judgement_.verdict.published += (k > 4 ? ", .." : "") + text(" (%.2g)", rule_.within);
    judgement_.verdict.ours += (k > 4 ? ", .." : "") + text(", off by %.2g", farthest);
    judgement_.verdict.reproduced = farthest <= rule_.within;
  }

  void judge_similar() {
    double widest = 0;
    count_points([&](Place const& at) {
      auto least = std::numeric_limits<double>::infinity();
      double most = 0;
      for (auto const& name : rule_.of) {
        least = std::min(least, get(at, name));
        most = std::max(most, get(at, name));
      }
      auto const spread = 100 * (most / least - 1);
      widest = std::max(widest, spread);
      return spread <= rule_.within;
    });
    judgement_.verdict.published += text(", within %g %%", rule_.within);
    judgement_.verdict.ours += text(", apart by up to %.1f %%", widest);
  }

  void judge_trend() {
    judgement_.verdict.published = rule_.rises ? "rises" : "falls";
    judgement_.verdict.reproduced = true;
    for (auto const& name : rule_.of) {
      auto const first = get(claim_.at.front(), name);
      auto const last = get(claim_.at.back(), name);
      bool const holds = rule_.rises ? last > first : last < first;
      judgement_.verdict.reproduced = judgement_.verdict.reproduced && holds;
      if (!holds || rule_.of.size() <= 2) {
        judgement_.verdict.ours +=
            (judgement_.verdict.ours.empty() ? "" : ", ") + text("%.4g to %.4g", first, last);
      }
    }
    if (judgement_.verdict.ours.empty()) {
      judgement_.verdict.ours = judgement_.verdict.published + text(", all %zu", rule_.of.size());
    }
  }

  void judge_gain() {
    auto const gain = [&](Place const& at) {
      return lead(get(at, rule_.of.front()), get(at, rule_.against.front()));
    };
    auto const first = gain(claim_.at.front());
    auto const last = gain(claim_.at.back());
    judgement_.verdict.published = rule_.rises ? "rises" : "falls";
    judgement_.verdict.ours = text("%+.1f %% to %+.1f %%", first, last);
    judgement_.verdict.reproduced = rule_.rises ? last > first : last < first;
  }

  void judge_peak() {
    judgement_.verdict.published = text("n = %g to %g", *rule_.at_least, *rule_.at_most);
    judgement_.verdict.reproduced = true;
    std::set<std::size_t> where;
    for (auto const& name : rule_.of) {
      auto best = claim_.at.front();
      for (auto const& at : claim_.at) {
        best = get(at, name) > get(best, name) ? at : best;
      }
      where.insert(best.n);
      auto const n = static_cast<double>(best.n);
      judgement_.verdict.reproduced =
          judgement_.verdict.reproduced && n >= *rule_.at_least && n <= *rule_.at_most;
    }
    for (auto const n : where) {
      judgement_.verdict.ours += text(judgement_.verdict.ours.empty() ? "%zu" : ", %zu", n);
    }
  }

  void judge_worst() {
    judgement_.verdict.published = text(">= %g", *rule_.at_least);
    judgement_.verdict.reproduced = true;
    for (auto const& name : rule_.of) {
      double most = 0;
      for (auto const& at : claim_.at) {
        most = std::max(most, get(at, name));
      }
      judgement_.verdict.ours += text(judgement_.verdict.ours.empty() ? "%.3f" : ", %.3f", most);
      judgement_.verdict.reproduced = judgement_.verdict.reproduced && most >= *rule_.at_least;
    }
  }

  void judge_draws() {
    auto least = std::numeric_limits<std::size_t>::max();
    std::size_t all = 0;
    for (auto const& at : claim_.at) {
      for (auto const& one : rule_.of) {
        auto const a = laboratory_.draws(at, one, rule_.metric);
        for (auto const& other : rule_.against) {
          auto const b = laboratory_.draws(at, other, rule_.metric);
          std::size_t held = 0;
          for (std::size_t k = 0; k < a.size(); ++k) {
            held += lead(a[k], b[k]) >= rule_.by ? 1 : 0;
          }
          least = std::min(least, held);
          all = a.size();
        }
      }
    }
    auto const needed =
        static_cast<std::size_t>(std::ceil(rule_.share * static_cast<double>(all) - 1e-9));
    judgement_.verdict.published = text(">= %zu of %zu draws, by %g %%", needed, all, rule_.by);
    judgement_.verdict.ours = text("%zu of %zu", least, all);
    judgement_.verdict.reproduced = least >= needed;
  }

  Claim const& claim_;
  Rule const& rule_;
  Laboratory& laboratory_;
  bool const more_;
  Judgement judgement_;
};

} // namespace

Judgement judge(Claim const& claim, Laboratory& laboratory) {
  return Judge(claim, laboratory).judgement();
}

} // namespace kumar2017
