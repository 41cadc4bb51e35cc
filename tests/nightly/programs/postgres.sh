# PostgreSQL with pgbench: tables are made, then transactions of one select each, one after another.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
mkdir /tmp/pg; chown postgres /tmp/pg
su postgres -s /bin/sh -c "$bin/initdb -D /tmp/pg/data -A trust > /dev/null"
echo "listen_addresses = '*'" >> /tmp/pg/data/postgresql.conf
echo "host all all 0.0.0.0/0 trust" >> /tmp/pg/data/pg_hba.conf
$B su postgres -s /bin/sh -c "$bin/pg_ctl -D /tmp/pg/data -o '-k /tmp' -l /tmp/pg/log -w start" > start.txt
$A $bin/pgbench -h 10.0.0.2 -U postgres -i -s 1 $PGBENCH_OPTIONS postgres > init.txt 2>&1
$A $bin/pgbench -h 10.0.0.2 -U postgres -n -S -c 1 -t 100 postgres | tee select.txt
$A $bin/pgbench -h 10.0.0.2 -U postgres -n -c 1 -t 20 postgres | tee tpcb.txt
number select_ms "$(awk '/latency average/ { print $4 }' select.txt)"
number tpcb_ms "$(awk '/latency average/ { print $4 }' tpcb.txt)"
