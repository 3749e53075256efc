#separator \x09
#set_separator	,
#empty_field	(empty)
#unset_field	-
#path	conn
#fields	ts	uid	id.orig_h	id.orig_p	id.resp_h	id.resp_p	proto	duration	resp_bytes
#types	time	string	addr	port	addr	port	enum	interval	count
1700000000.000001	C1	10.0.0.1	40000	192.0.2.1	443	tcp	2.5	1000
1700000000.500000	C2	10.0.0.2	40001	192.0.2.2	53	udp	0.010000	120
1700000000.250000	C3	10.0.0.1	40002	192.0.2.1	443	tcp	-	-
#close	2023-11-14-23-00-00
#separator \x09
#set_separator	,
#empty_field	(empty)
#unset_field	-
#path	conn
#fields	ts	uid	id.orig_h	id.orig_p	id.resp_h	id.resp_p	proto	duration	resp_bytes
#types	time	string	addr	port	addr	port	enum	interval	count
1700000004.000000	C4	fe80::1	546	ff02::1:2	547	udp	1.0	0
