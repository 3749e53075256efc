locus gen --records 1000 --pattern churn | locus inspect --top 3 -
