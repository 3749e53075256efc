#!/bin/bash
# SPDX-License-Identifier: MIT
#
# drive.sh LOCUS: what "locus drive" says to scripts that are wrong, and the corners of the
# language that no recording shows. TAP.
set -u
locus=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
count=0

report() {
    count=$((count + 1))
    if [[ $1 == 0 ]]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' said
    fi
}

# malformed NAME LINE MESSAGE SCRIPT: exit 2, one message, for that line, with those words.
malformed() {
    local status=0
    printf '%b' "$4" >script.ev
    "$locus" drive script.ev >out 2>err || status=$?
    {
        echo "exit $status, expected 2 and: script.ev:$2: $3"
        cat err
    } >said
    [[ $status == 2 && $(wc -l <err) == 1 ]] &&
        grep -qF "locus drive: script.ev:$2: $3" err
    report $? "malformed: $1"
}

# gives NAME ANSWER SCRIPT [ARGUMENTS]: exit 0, exactly that on stdout, nothing on stderr.
gives() {
    local name=$1 answer=$2 script=$3 status=0
    shift 3
    printf '%b' "$script" >script.ev
    printf '%b' "$answer" >expected
    "$locus" drive "$@" script.ev >out 2>err || status=$?
    {
        echo "exit $status"
        diff -u expected out
        cat err
    } >said
    [[ $status == 0 && ! -s err ]] && cmp -s expected out
    report $? "$name"
}

# exits NAME STATUS WORDS COMMAND...: that status, and those words on stderr.
exits() {
    local name=$1 expected=$2 words=$3 status=0
    shift 3
    "$@" >out 2>err || status=$?
    {
        echo "exit $status, expected $expected and: $words"
        cat err
    } >said
    [[ $status == "$expected" ]] && grep -qF -- "$words" err
    report $? "$name"
}

wlc='sched wlc\nserver 1 1\n'

malformed 'an unknown event' 1 'frobnicate: expected an event: set sched' 'frobnicate 1\n'
malformed 'an event in capitals' 1 'STAT: expected an event' 'STAT\n'
malformed 'the line is counted with comments and empty lines' 4 'bogus: ' '# a\n\n  # b\nbogus\n'
malformed 'the last line needs no newline' 1 'bogus: ' 'bogus'
malformed 'bytes that are not text are shown as numbers' 1 '\x01\xff: expected an event' '\001\377\n'
malformed 'a long word is cut' 1 "$(printf 'x%.0s' {1..57})...: expected an event" "$(printf 'x%.0s' {1..200})\n"
malformed 'a NUL byte' 2 'expected text, not a NUL byte' 'print a\nprint \0\n'
malformed 'a line without end' 1 'expected a line of at most 4096 bytes' "print $(printf 'x%.0s' {1..4200})\n"
malformed 'set without a value' 1 "set: expected 'set KEY VALUE'" 'set hz\n'
malformed 'set with a word too many' 1 "set: expected 'set KEY VALUE'" 'set hz 250 1\n'
malformed 'an unknown setting' 1 'set: KEY: expected one of hz jiffies0' 'set colour red\n'
malformed 'hz 0' 1 "set: hz: expected 1 or more, not '0'" 'set hz 0\n'
malformed 'hz beyond the range' 1 'set: hz: expected a whole number from 0 to 24855' 'set hz 24856\n'
malformed 'hz after sched' 3 'set: hz: expected before the first sched' "${wlc}set hz 100\n"
malformed 'proto after sched' 3 'set: proto: expected before the first sched' "${wlc}set proto udp\n"
malformed 'an unknown proto' 1 "set: proto: expected one of tcp udp manual, not 'sctp'" 'set proto sctp\n'
malformed 'an unknown fwd' 1 "set: fwd: expected one of masq dr tun, not 'nat'" 'set fwd nat\n'
malformed 'a negative seed' 1 "set: seed: expected a whole number from 0 to 18446744073709551615, not '-1'" 'set seed -1\n'
malformed 'a seed of 2^64' 1 'set: seed: expected a whole number' 'set seed 18446744073709551616\n'
malformed 'a switch that is neither 0 nor 1' 1 'set: wheel: expected a whole number from 0 to 1' 'set wheel 2\n'
malformed 'an expiration with a fraction' 1 "set: lblc_expiration: expected a whole number, not '1.5'" 'set lblc_expiration 1.5\n'
malformed 'a minus alone' 1 "set: lblcr_expiration: expected a whole number, not '-'" 'set lblcr_expiration -\n'
malformed 'sched without a name' 1 "sched: expected 'sched NAME" 'sched\n'
malformed 'an unknown flag' 1 "sched: flag: expected one of fallback port, not 'fast'" 'sched sh fast\n'
malformed 'a flag twice' 1 'sched: flag: expected port once' 'sched sh port port\n'
malformed 'a server before sched' 1 "server: expected 'sched NAME' before it" 'server 1 1\n'
malformed 'a connection before sched' 1 "conn: expected 'sched NAME' before it" 'conn 1 10.0.0.1\n'
malformed 'a dump before sched' 1 "dump: expected 'sched NAME' before it" 'dump\n'
malformed 'a refused sched makes no service' 2 "stat: expected 'sched NAME' before it" 'sched nosuch\nstat\n'
malformed 'a server without weight' 2 "server: expected 'server ID W [U L] [ADDR:PORT]'" 'sched wlc\nserver 1\n'
malformed 'an ID beyond the range' 2 'server: ID: expected a whole number from 0 to 16777215' 'sched wlc\nserver 16777216 1\n'
malformed 'a negative ID' 2 "server: ID: expected a whole number from 0 to 16777215, not '-1'" 'sched wlc\nserver -1 1\n'
malformed 'a weight with junk' 2 "server: W: expected a whole number, not '1x'" 'sched wlc\nserver 1 1x\n'
malformed 'a weight with a plus' 2 "server: W: expected a whole number, not '+1'" 'sched wlc\nserver 1 +1\n'
malformed 'half a pair of thresholds' 2 "server: ADDR:PORT: expected an IPv4 address with a port such as 10.0.0.1:80, not '5'" 'sched wlc\nserver 1 1 5\n'
malformed 'a negative threshold' 2 "server: U: expected a whole number from 0 to 4294967295, not '-5'" 'sched wlc\nserver 1 1 -5 0\n'
malformed 'a threshold of 2^32' 3 'edit: L: expected a whole number from 0 to 4294967295' "${wlc}edit 1 1 5 4294967296\n"
malformed 'an address without port' 2 'server: ADDR:PORT: expected' 'sched wlc\nserver 1 1 10.0.0.1\n'
malformed 'an address of five parts' 2 'server: ADDR:PORT: expected' 'sched wlc\nserver 1 1 10.0.0.1.2:80\n'
malformed 'an IPv6 address' 2 'server: ADDR:PORT: expected' 'sched wlc\nserver 1 1 [2001:db8::1]:80\n'
malformed 'a port of 65536' 2 'server: ADDR:PORT: expected' 'sched wlc\nserver 1 1 10.0.0.1:65536\n'
malformed 'weight of a word' 3 "weight: W: expected a whole number, not 'heavy'" "${wlc}weight 1 heavy\n"
malformed 'edit without thresholds' 3 "edit: expected 'edit ID W U L'" "${wlc}edit 1 1\n"
malformed 'del of nothing' 3 "del: expected 'del ID'" "${wlc}del\n"
malformed 'a CID with a sign' 3 "conn: CID: expected a whole number from 0 to 18446744073709551615, not '-1'" "${wlc}conn -1 10.0.0.1\n"
malformed 'a CID that is open' 4 "conn: CID: expected one that is not open, not '7'" "${wlc}conn 7 10.0.0.1\nconn 7 10.0.0.2\n"
malformed 'a destination of three parts' 3 "conn: DST: expected an IPv4 address such as 10.0.0.1 or a number of 32 bits, not '10.0.1'" "${wlc}conn 1 10.0.1\n"
malformed 'a part of 256' 3 'conn: DST: expected' "${wlc}conn 1 10.0.0.256\n"
malformed 'a destination of 2^32' 3 'conn: DST: expected' "${wlc}conn 1 4294967296\n"
malformed 'a destination with a port' 3 'conn: DST: expected' "${wlc}conn 1 10.0.0.1:80\n"
malformed 'a client that is no address' 3 'conn: SRC: expected' "${wlc}conn 1 10.0.0.1 me\n"
malformed 'a client port of 65536' 3 'conn: SPORT: expected a whole number from 0 to 65535' "${wlc}conn 1 10.0.0.1 1 65536\n"
malformed 'a connection with a word too many' 3 "conn: expected 'conn CID DST [SRC [SPORT]]'" "${wlc}conn 1 2 3 4 5\n"
malformed 'a packet from nowhere' 1 "pkt: direction: expected one of in out, not 'up'" 'pkt 1 up syn\n'
malformed 'a packet of no kind' 1 "pkt: packet: expected one of syn fin ack rst, not 'psh'" 'pkt 1 in psh\n'
malformed 'close of a word' 1 'close: CID: expected a whole number' 'close all\n'
malformed 'dump in another order' 3 "dump: order: expected one of raw, not 'sorted'" "${wlc}dump sorted\n"
malformed 'stat of something' 3 "stat: expected 'stat'" "${wlc}stat 1\n"
malformed 'print of nothing' 1 "print: expected 'print WORDS'" 'print\n'
malformed 'a negative time' 1 "time: S: expected seconds such as 60 or 0.004, of at most nine digits of fraction, not '-1'" 'time -1\n'
malformed 'a time with an exponent' 1 'time: S: expected seconds' 'time 1e3\n'
malformed 'a time that ends in a point' 1 'time: S: expected seconds' 'time 1.\n'
malformed 'a time that begins with a point' 1 'time: S: expected seconds' 'time .5\n'
malformed 'a time of two points' 1 'time: S: expected seconds' 'time 1.2.3\n'
malformed 'ten digits of fraction' 1 'time: S: expected seconds' 'time 0.0000000001\n'
malformed 'a clock that runs too far' 2 'time: expected the clock to stay within 1000000000 seconds' 'time 1000000000\ntime 0.004\n'
malformed 'a time beyond 64 bits' 1 'time: expected the clock to stay within 1000000000 seconds' 'time 99999999999999999999999\n'
malformed 'too many jiffies' 1 'jiffies: expected the clock to stay within 1000000000 seconds' 'jiffies 18446744073709551615\n'
malformed 'negative jiffies' 1 'jiffies: N: expected a whole number' 'jiffies -1\n'
malformed 'a step back' 2 "at: S: expected a moment that the clock has not passed yet, not '4.999'" 'time 5\nat 4.999\n'

printf 'sched wlc\nserver 1 1\nconn 1 10.0.0.1\nbogus\nconn 2 10.0.0.1\n' >script.ev
"$locus" drive script.ev >said 2>&1
[[ $(head -n 1 said) == '1 1' && $(wc -l <said) == 2 ]]
report $? 'what came before the malformed line is printed, and before its message'

gives 'an empty script says nothing' '' ''
dice='server 1 5\nserver 2 5\nserver 3 5\nconn 1 10.0.0.1\nconn 2 10.0.0.1\nconn 3 10.0.0.1\n'
gives 'a seed before sched rules the dice of twos' '1 2\n2 1\n3 3\n' \
    "set seed 7\nsched twos\n$dice"
gives 'a seed after sched starts the dice anew' '1 2\n2 1\n3 3\n' \
    "sched twos\nset seed 7\n$dice"
gives 'chbl keeps a destination until its server is at the bound' '1 2\n2 2\n3 1\nchbl stateless\n4 2\n' \
    'sched chbl\nserver 1 5\nserver 2 5\nconn 1 10.0.0.1\nconn 2 10.0.0.1\nconn 3 10.0.0.1\ndump\nconn 4 10.0.0.1\n'
gives 'p2c throws the dice of the seed, and of two servers takes the idle one' '1 1\n2 2\n3 1\n4 2\np2c stateless\n' \
    'sched p2c\nset seed 7\nserver 1 5\nserver 2 5\nconn 1 10.0.0.1\nconn 2 10.0.0.1\nconn 3 10.0.0.1\nconn 4 10.0.0.1\ndump\n'
gives 'a wheel after sched rounds what is armed from then on' \
    'lblc jiffies=30207 entries=0 linked=0 max_size=16384 rover=0 counter=2
lblc jiffies=30208 entries=0 linked=0 max_size=16384 rover=0 counter=3\n' \
    'sched lblc\nset wheel 1\ntime 60\njiffies 15207\ndump\njiffies 1\ndump\n'
gives 'tabs, carriage returns and comments behind words are blanks' '1 1\n' \
    'sched\twlc\r\n  server 1 1 # one\r\nconn 1 10.0.0.1#two\n'
gives 'echo prints events as read, and nothing else' \
    '>  print  a  b # c\n# a b\n> set echo 0\n# a\n' \
    'set echo 1\n print  a  b # c\n\n# not an event\nset echo 0\nprint a\n'

gives 'fractions of a jiffy add up' 'stat jiffies=4 dests=0\nstat jiffies=5 dests=0\n' \
    'sched rr\ntime 0.005\ntime 0.005\ntime 0.007999999\nstat\ntime 0.000000001\ntime 0.001\ntime 0.001\nstat\n'
gives 'jiffies drops the fraction' 'stat jiffies=2 dests=0\n' \
    'sched rr\ntime 0.007\njiffies 0\ntime 0.001\njiffies 0\ntime 0.003\njiffies 1\nstat\n'
gives 'at counts from the start, and standing still is allowed' 'stat jiffies=1255 dests=0\n' \
    'set jiffies0 5\nsched rr\ntime 2\nat 5\nat 5\nstat\n'
gives 'another hz keeps the second' 'stat jiffies=150 dests=0\n' \
    'time 1.5\nset hz 100\nsched rr\nstat\n'
gives 'jiffies wrap at 2^64' \
    'stat jiffies=18446744073709551615 dests=0\nstat jiffies=0 dests=0\n' \
    'set jiffies0 18446744073709551615\nsched rr\nstat\njiffies 1\nstat\n'
gives 'destinations expire across the wrap' \
    '1 1\nlblc jiffies=434999 entries=1 linked=1 max_size=16384 rover=0 counter=30\n 10.0.0.1 lastuse=18446744073709536616 server=1\nlblc jiffies=435000 entries=0 linked=0 max_size=16384 rover=0 counter=1\n' \
    'set jiffies0 18446744073709536616\nset lblc_expiration 60\nsched lblc\nserver 1 1\nconn 1 10.0.0.1\ntime 1799.996\ndump\njiffies 1\ndump\n'

gives 'expirations are refused beyond an int of jiffies' \
    'err set lblc_expiration EINVAL\nerr set lblcr_expiration EINVAL\nerr set lblc_expiration_jiffies EINVAL\nerr set lblcr_expiration_jiffies EINVAL\nerr set lblc_expiration EINVAL\n' \
    'set lblc_expiration 8589934\nset lblc_expiration 8589935\nset lblcr_expiration -8589934\nset lblcr_expiration -8589935\nset lblc_expiration_jiffies -2147483648\nset lblc_expiration_jiffies 2147483648\nset lblcr_expiration_jiffies 2147483647\nset lblcr_expiration_jiffies -2147483649\nset lblc_expiration 99999999999999999999\n'
gives 'an expiration in jiffies is the same variable' \
    '1 3\n2 3\n3 2\n4 2\n5 2\nlblcr jiffies=6 entries=1 linked=1 max_size=16384 rover=0 counter=1\n 10.0.0.1 lastuse=6 lastmod=6 size=1 set=2\n' \
    'set proto manual\nset lblcr_expiration 0\nset lblcr_expiration_jiffies 5\nsched lblcr\nserver 1 1\nserver 2 1\nserver 3 1\nconn 1 10.0.0.1\nest 1\nconn 2 10.0.0.1\nest 2\nconn 3 10.0.0.1\nclose 3\njiffies 5\nconn 4 10.0.0.1\nclose 4\njiffies 1\nconn 5 10.0.0.1\ndump\n'

gives 'what is out of range is refused, whatever its length' \
    'err server 1 ERANGE\nerr server 1 ERANGE\nerr server 1 ERANGE\nerr server 1 EINVAL\n1 -\n' \
    'sched wlc\nserver 1 -1\nserver 1 2147483648\nserver 1 -99999999999999999999\nserver 1 1 2147483648 0\nconn 1 1\n'
gives 'absence and presence are found before numbers' \
    'err edit 5 ENOENT\nerr weight 5 ENOENT\nerr server 1 EEXIST\nerr edit 1 ERANGE\n' \
    'sched wlc\nserver 1 1\nedit 5 -1 2 3\nweight 5 -1\nserver 1 -1\nedit 1 1 2 3\n'
gives 'a server keeps its address when it is added again' 'err server 9 EEXIST\n' \
    'sched wlc\nserver 1 1 10.0.0.9:80\ndel 1\nserver 1 1\nserver 9 1\n'
gives 'a revived server goes by the ID of the add' \
    '1 1\nstat jiffies=0 dests=1\n 2 weight=7 last_weight=7 active=1 inact=0 total=1 persist=0 overload=0 u=0 l=0 refcnt=2\nerr del 1 ENOENT\n' \
    'sched wlc\nserver 1 5 10.0.0.9:80\nconn 1 1\ndel 1\nserver 2 7 10.0.0.9:80\nstat\ndel 1\n'

gives 'packets of connections that are not open are ignored' '1 1\n' \
    'est 1\nfin 1\nclose 1\npkt 1 in syn\nsched wlc\nserver 1 1\nest 1\nclose 1\nconn 1 1\nclose 1\nfin 1\n'
gives 'a refused and a closed CID can be used again' '1 -\n1 1\n1 1\n' \
    'sched none\nserver 1 1\nconn 1 1\nsched wlc\nconn 1 1\nclose 1\nconn 1 1\n'
gives 'the largest CID and addresses as numbers' '18446744073709551615 1\n0 1\n' \
    'sched sh\nserver 1 1\nconn 18446744073709551615 4294967295 4294967295 65535\nconn 0 0 0 0\n'
stat_of='persist=0 overload=0 u=0 l=0 refcnt=2\n'
one=" 1 weight=1 last_weight=1 active=1 inact=0 total=1 $stat_of"
none=" 1 weight=1 last_weight=1 active=0 inact=1 total=1 $stat_of"
head='stat jiffies=0 dests=1\n'
gives 'udp is never active' "1 1\n$head$none" \
    'set proto udp\nsched wlc\nserver 1 1\nconn 1 1\nest 1\npkt 1 in syn\nstat\n'
gives 'manual is active between est and fin' "1 1\n$head$none$head$one$head$none" \
    'set proto manual\nsched wlc\nserver 1 1\nconn 1 1\nstat\nest 1\nest 1\nstat\nfin 1\nfin 1\nstat\n'
gives 'tcp is active from the first packet, and again after a new SYN' \
    "1 1\n$head$one$head$none$head$one" \
    'sched wlc\nserver 1 1\nconn 1 1\nstat\nfin 1\nstat\npkt 1 in syn\nstat\n'
gives 'a server that packets were seen for is no longer one-way' "1 1\n$head$none$head$one" \
    'set fwd dr\nsched wlc\nserver 1 1\nset fwd masq\nconn 1 1\npkt 1 out rst\nstat\npkt 1 out syn\nstat\n'
gives 'old kernels take a threshold that new ones refuse' '' \
    'sched wlc\nserver 1 1 3000000000 0\n' --rules kernel-classic

printf 'print from a pipe\n' | "$locus" drive - >said 2>&1
[[ $(cat said) == '# from a pipe' ]]
report $? 'a script may come from the standard input'

exits 'no script is a usage error' 2 'expected one SCRIPT, not 0' "$locus" drive
exits 'two scripts are a usage error' 2 'expected one SCRIPT, not 2' "$locus" drive a b
exits 'unknown rules are a usage error that names the known' 2 \
    'expected one of kernel kernel-classic article' "$locus" drive --rules best script.ev
exits 'a missing script is named' 1 'nothing.ev: cannot open' "$locus" drive nothing.ev
exits 'a folder is no script' 1 '.: cannot read' "$locus" drive .
[[ -e /dev/full ]] && exits 'a full disk is an error' 1 'cannot write the output' \
    bash -c 'printf "print a\n" | "$0" drive - >/dev/full' "$locus"

echo "1..$count"
