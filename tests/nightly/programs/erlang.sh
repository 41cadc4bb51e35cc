# Erlang's distribution: two nodes connect, then a call of the other's function.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
export HOME=/tmp; echo secret > /tmp/.erlang.cookie; chmod 400 /tmp/.erlang.cookie
$B erl -noshell -name b@10.0.0.2 &
sleep 5
$A erl -noshell -name a@10.0.0.1 -eval '
    B = list_to_atom("b@10.0.0.2"),
    pong = net_adm:ping(B),
    rpc:call(B, erlang, node, []),
    T0 = erlang:monotonic_time(microsecond),
    rpc:call(B, erlang, node, []),
    T1 = erlang:monotonic_time(microsecond),
    io:format("call_ms = ~.3f~n", [(T1 - T0) / 1000]), halt().'
