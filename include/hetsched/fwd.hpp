// SPDX-License-Identifier: MIT
#pragma once

// Forward declarations; the only home of default template arguments.

#include <hetsched/core/version.hpp>

namespace hetsched {

namespace policies {

class Mailbox;
class WorkStealingDeque;
class PriorityHeap;
class Lru;
struct NoModel;
class History;
class Regression;
enum class DequeOrder : bool;
template <DequeOrder Order>
class LockedDeque;

class RandomVictim;
class MostLoadedVictim;

template <class Queue = WorkStealingDeque, class Victim = RandomVictim>
class WorkStealing;

enum class DataTies : bool;

template <class Queue = WorkStealingDeque,
          class Inbox = Mailbox,
          class Victim = RandomVictim,
          DataTies Ties = DataTies{false}>
class DataAware;

template <class Queue = WorkStealingDeque, class Inbox = Mailbox, class Victim = RandomVictim>
class LocalityAware;

template <class Queue = LockedDeque<DequeOrder{false}>>
class XkaapiHeft;

template <class Queue = LockedDeque<DequeOrder{false}>>
class Dmda;

using Dmdas = Dmda<PriorityHeap>;

class Dmdar;

class SciotoSingle;

template <class Queue = LockedDeque<DequeOrder{false}>>
class SciotoDouble;

template <class Queue = LockedDeque<DequeOrder{false}>>
class Eager;

template <class LocalQueue = WorkStealingDeque>
class Multigrain;

template <class Queue = LockedDeque<DequeOrder{false}>>
class Random;

template <class Queue = PriorityHeap>
class Priority;

} // namespace policies

struct ThreadEngine;
struct VirtualEngine;

/// See runtime.hpp.
template <class Scheduler = policies::WorkStealing<>,
          class Cache = policies::Lru,
          class PerfModel = policies::NoModel,
          class Engine = ThreadEngine>
class Runtime;

} // namespace hetsched
