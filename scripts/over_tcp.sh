#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a program's ranks on this machine as if each were on a host of its own: in a network namespace
# with its own address and host name, so that MPI sends by TCP. Needs root, iproute2 and util-linux.
#
# Usage: over_tcp.sh [--rate RATE] MPIRUN RANKS PROGRAM [ARGUMENT...]
#   RATE     of each host's link, both ways, as tc names it: 1gbit, 100mbit. Without, as fast as the machine
#   MPIRUN   mpirun.openmpi, or mpirun.mpich
set -euo pipefail

rate=
if [ "${1-}" = --rate ] && [ $# -ge 2 ]; then
  rate=$2
  shift 2
fi
[ $# -ge 3 ] || { sed -n 's/^# \{0,1\}//; 6,8p' "$0" >&2; exit 2; }
mpirun=$1
ranks=$2
shift 2
if ! [[ $ranks =~ ^[1-9][0-9]?$ ]]; then
  echo "over_tcp.sh: '$ranks' is no number of ranks from 1 to 99" >&2
  exit 2
fi
for tool in ip unshare hostname "$mpirun" ${rate:+tc}; do
  command -v "$tool" >/dev/null || { echo "over_tcp.sh: $tool is not there" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "over_tcp.sh: needs root, for network namespaces" >&2; exit 2; }

# Names of this run's own: the launcher's host is number 0.
name=hs$$
folder=$(mktemp -d)
clean_up() {
  ip link del "br$name" 2>/dev/null || true
  for ((k = 0; k <= ranks; ++k)); do
    ip link del "v$name$k" 2>/dev/null || true
    ip netns del "$name-$k" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap clean_up EXIT
if ! ip netns add "$name-0" 2>/dev/null || ! ip link add "br$name" type bridge 2>/dev/null; then
  echo "over_tcp.sh: network namespaces, or bridges between them, cannot be made here" >&2
  exit 2
fi
ip link set "br$name" up
# A token bucket at both ends of a host's link.
limit() {
  local bucket=(root tbf rate "$rate" burst 64kb latency 500ms)
  if ! tc -n "$name-$1" qdisc add dev eth0 "${bucket[@]}" 2>/dev/null ||
    ! tc qdisc add dev "v$name$1" "${bucket[@]}" 2>/dev/null; then
    echo "over_tcp.sh: links of the rate '$rate' cannot be made here" >&2
    exit 2
  fi
}
hosts=()
for ((k = 0; k <= ranks; ++k)); do
  [ "$k" = 0 ] || ip netns add "$name-$k"
  ip link add "v$name$k" type veth peer name eth0 netns "$name-$k"
  ip link set "v$name$k" master "br$name" up
  ip -n "$name-$k" addr add "10.77.$((k / 100)).$((k % 100 + 1))/16" dev eth0
  ip -n "$name-$k" link set eth0 up
  ip -n "$name-$k" link set lo up
  [ -z "$rate" ] || limit "$k"
  ((k == 0)) || hosts+=("10.77.$((k / 100)).$((k % 100 + 1))")
done

# What the launchers call in ssh's place: AGENT [OPTION...] HOST COMMAND...
cat >"$folder/agent" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
host=\$1
shift
number=\$((\$(cut -d. -f3 <<<"\$host") * 100 + \$(cut -d. -f4 <<<"\$host") - 1))
exec ip netns exec $name-\$number unshare --uts /bin/bash -c "hostname host\$number; \$*"
END
chmod +x "$folder/agent"
list=$(IFS=,; echo "${hosts[*]}")
if "$mpirun" --version 2>&1 | grep -qE "OpenRTE|Open MPI"; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  options=(--host "$list" --mca plm_rsh_agent "$folder/agent" --mca btl "tcp,self" --mca pml ob1
    --mca mpi_yield_when_idle 1 --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0)
else
  export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
  options=(-hosts "$list" -launcher ssh -launcher-exec "$folder/agent" -iface eth0)
fi
ip netns exec "$name-0" "$mpirun" -n "$ranks" "${options[@]}" "$@"
