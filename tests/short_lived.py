"""Settings for a Java that lives for minutes at most, on tiny inputs.

It compiles quickly rather than well, and frees memory in one thread, not before it has loaded Spark's classes. Memory
in which tasks sort and group comes in pages of 1 MB; by Spark's own rule they are of 40 MB, which each task clears.
"""

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
CONF = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.buffer.pageSize": "1m",
}
