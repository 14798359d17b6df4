// SPDX-License-Identifier: MIT
#pragma once
// How the library is built: the one home of its switches. None changes the layout of a class.
//
// HETSCHED_COMPILED (set by hetsched-compiled's pkg-config file, hetsched::compiled, or the Meson
// dependency hetsched-compiled): what is cold, and the default Runtime<>, comes from a library
// instead of being compiled in each file. HETSCHED_BUILDING is set where that library is made.

#if defined(HETSCHED_COMPILED)
#define HETSCHED_INLINE
#else
#define HETSCHED_INLINE inline
#endif

// HETSCHED_CHECK_POLICIES: 1 or 0. With 1, each call of a policy is checked: a policy that breaks
// its contract ends the program, or in virtual time the run, with a line that names the policy and
// the hook. If it is not defined, it is 1 in builds with assertions and without optimisation.
#ifndef HETSCHED_CHECK_POLICIES
#if defined(NDEBUG) || defined(__OPTIMIZE__)
#define HETSCHED_CHECK_POLICIES 0
#else
#define HETSCHED_CHECK_POLICIES 1
#endif
#endif

// HETSCHED_CHECK_BOUNDS: 1 or 0, the default. With 1, views check each index. Outside of kernels of
// CUDA devices a wrong one throws Error(bad_access), which fails the task; there it is a trap.
// Views with checks are other types, so objects that hand views to each other have to be built
// alike, or do not link.
#ifndef HETSCHED_CHECK_BOUNDS
#define HETSCHED_CHECK_BOUNDS 0
#endif

#if !defined(HETSCHED_COMPILED) || defined(HETSCHED_BUILDING)
#define HETSCHED_DEFINITIONS // files *_inl.hpp are included behind what they define
#endif
