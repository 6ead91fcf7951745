"""What an experiment is, how its runs are carried out on Spark, and how their figures compare with a paper's."""
