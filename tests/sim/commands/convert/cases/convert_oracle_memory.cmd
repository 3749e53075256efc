# the numbers of next requests go to a temporary file when --memory is small
for memory in 64KiB 1GiB
do
    locus gen --records 20000 --destinations 50 |
        locus convert --memory $memory --to oraclegeneral - | cksum
done
