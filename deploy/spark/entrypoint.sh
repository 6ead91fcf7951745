#!/bin/bash
# What Spark's scheduler asks of an image: "executor" starts one; anything else is a command, such as weft.
set -e
if [ "$1" != executor ]; then
    exec "$@"
fi
shift
options=()
while IFS='=' read -r name value; do
    [[ $name == SPARK_JAVA_OPT_* ]] && options+=("$value")
done < <(env)
exec java "${options[@]}" -Xms"$SPARK_EXECUTOR_MEMORY" -Xmx"$SPARK_EXECUTOR_MEMORY" -cp "$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
