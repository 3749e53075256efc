locus lint --servers 2 --policy fastest
