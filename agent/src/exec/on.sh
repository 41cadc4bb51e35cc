#!/bin/sh
# on NODE [COMMAND [ARG...]]: run a command in another node of the lab, or a shell.
if [ $# -eq 0 ] || [ ! -e "/run/netns/$1" ]; then
    [ $# -eq 0 ] || echo "on: there is no node \"$1\"" >&2
    echo "usage: on NODE [COMMAND [ARG...]]; the nodes: $(ls /run/netns | tr '\n' ' ')" >&2
    exit 2
fi
NETWARP_NODE=$1
export NETWARP_NODE
shift
[ $# -gt 0 ] || set -- bash --noprofile --rcfile /run/netwarp-shell.bash
exec ip netns exec "$NETWARP_NODE" "$@"
