// SPDX-License-Identifier: MIT
#pragma once
// The head of files in the format of Paje: its events and types.

#include <string_view>

namespace hetsched::detail {

/// The numbers and the fields of events.
inline constexpr std::string_view paje_events = R"(%EventDef PajeDefineContainerType 0
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeDefineEventType 3
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeDefineLinkType 4
%  Alias string
%  Type string
%  StartContainerType string
%  EndContainerType string
%  Name string
%EndEventDef
%EventDef PajeDefineEntityValue 5
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeCreateContainer 6
%  Time date
%  Alias string
%  Type string
%  Container string
%  Name string
%EndEventDef
%EventDef PajeDestroyContainer 7
%  Time date
%  Type string
%  Name string
%EndEventDef
%EventDef PajePushState 8
%  Time date
%  Type string
%  Container string
%  Value string
%  Task int
%  Label string
%EndEventDef
%EventDef PajePopState 9
%  Time date
%  Type string
%  Container string
%EndEventDef
%EventDef PajeSetVariable 10
%  Time date
%  Type string
%  Container string
%  Value double
%EndEventDef
%EventDef PajeNewEvent 11
%  Time date
%  Type string
%  Container string
%  Value string
%EndEventDef
%EventDef PajeStartLink 12
%  Time date
%  Type string
%  Container string
%  StartContainer string
%  Value string
%  Key string
%EndEventDef
%EventDef PajeEndLink 13
%  Time date
%  Type string
%  Container string
%  EndContainer string
%  Value string
%  Key string
%EndEventDef
)";

/// Containers, states, events, variables and links, and the values that are the same in every file.
inline constexpr std::string_view paje_types = R"(0 P 0 "Run"
0 W P "Worker"
0 N P "Memory node"
1 S W "Task"
1 T N "Transfer"
2 R P "Ready tasks" "0.00 0.45 0.70"
3 L W "Steal" "0.00 0.00 0.00"
3 E N "Eviction" "0.80 0.40 0.00"
4 M P N N "Movement"
4 D P W W "Dependency"
5 C T "transfer" "0.34 0.71 0.91"
5 B M "movement" "0.34 0.71 0.91"
5 A D "dependency" "0.50 0.50 0.50"
)";

} // namespace hetsched::detail
