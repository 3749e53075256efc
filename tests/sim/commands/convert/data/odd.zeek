#separator \x09
#set_separator	,
#empty_field	(empty)
#unset_field	-
#path	conn
#fields	ts	uid	id.orig_h	id.orig_p	id.resp_h	id.resp_p	proto	duration	resp_bytes
#types	time	string	addr	port	addr	port	enum	interval	count
17e8	C1	10.0.0.1	1	192.0.2.1	2	tcp	1	1
1700000000	C1	10.0.0.1	1	192.0.2.1	2	tcp	-1	1
1700000000	C1	10.0.0.1	1	192.0.2.1	2	tcp	1	-1
1700000000	C1	10.0.0.1	1	192.0.2.1	70000	tcp	1	1
1700000000	C1	10.0.0.1	70000	192.0.2.1	2	tcp	1	1
1700000000	C1	host	1	192.0.2.1	2	tcp	1	1
1700000000	C1	10.0.0.1	1	host	2	tcp	1	1
1700000000	C1	10.0.0.1	1	192.0.2.1
1700000000	C1	10.0.0.1	1	192.0.2.1	2	tcp	1	1	1
1700000000	C1	10.0.0.1	1	192.0.2.1	2	tcp	1	1
#close	2023-11-14-23-00-00
1700000000	C1	10.0.0.1	1	192.0.2.1	2	tcp	1	1
#fields	ts	uid
