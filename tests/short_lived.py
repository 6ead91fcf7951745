"""Settings for a Java that lives for seconds: it compiles quickly rather than well, and frees memory in one thread."""

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {"spark.driver.extraJavaOptions": JAVA, "spark.executor.extraJavaOptions": JAVA}
